#!/bin/bash
# The security plugin's own configuration with two users in place of its demo users, whose passwords everybody knows.
# Made once: later changes of users and roles are kept by the cluster, not here.
set -euo pipefail
home=$1     # of OpenSearch
secrets=$2  # a folder with the files admin_password and dashboards_password
folder=$3   # where the configuration goes
owner=${4:-1000:1000}

if [ -e "$folder/ready" ]; then
    echo "security: it is there"
    exit 0
fi

hash_of() {
    local password
    password=$(cat "$secrets/$1")
    if [ "${#password}" -lt 12 ]; then
        echo "security: $1 has less than 12 characters; choose a longer one" >&2
        return 1
    fi
    # The password goes by the environment, where no list of processes shows it; the hash is the last line printed.
    SCIRET_PLAIN=$password bash "$home/plugins/opensearch-security/tools/hash.sh" -env SCIRET_PLAIN | tail -n 1
}

admin=$(hash_of admin_password)
server=$(hash_of dashboards_password)
cp "$home"/config/opensearch-security/*.yml "$folder"
cat > "$folder/internal_users.yml" <<YAML
_meta:
  type: internalusers
  config_version: 2
admin:
  hash: "$admin"
  reserved: true
  backend_roles: [admin]
  description: Everything is allowed.
kibanaserver:
  hash: "$server"
  reserved: true
  description: OpenSearch Dashboards itself.
YAML
chmod 700 "$folder"
chmod 600 "$folder"/*.yml
chown -R "$owner" "$folder"
touch "$folder/ready"
echo "security: made"
