#!/bin/sh
# An authority and a certificate each for opensearch and dashboards, made once and kept in a volume.
# The authority's key is thrown away: nobody can sign with it later. To renew them all, remove the volume.
set -eu
folder=$1
owner=${2:-1000:1000} # the user in both images of OpenSearch
days=825

if [ -e "$folder/ready" ]; then
    echo "certificates: they are there"
    exit 0
fi
cd "$folder"
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days "$days" \
    -subj "/O=sciret/CN=sciret authority" -keyout ca-key.pem -out ca.pem
for name in opensearch dashboards; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/O=sciret/CN=$name" \
        -keyout "$name-key.pem" -out "$name.csr"
    {
        echo "subjectAltName=DNS:$name,DNS:localhost,IP:127.0.0.1"
        echo "extendedKeyUsage=serverAuth,clientAuth"
    } > "$name.ext"
    openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days "$days" \
        -extfile "$name.ext" -out "$name.pem"
done
rm -f ca-key.pem ./*.csr ./*.ext ./*.srl
chmod 755 .
chmod 644 ca.pem opensearch.pem dashboards.pem
chown "$owner" ./*.pem
touch ready
echo "certificates: made, valid for $days days"
