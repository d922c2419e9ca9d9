#!/bin/sh
# Builds the image where no Docker engine runs and no base image can be pulled, and tries it: by buildah, on a stand-in
# for the base image that is made of Debian's packages. Needs root, and apt-get install buildah debootstrap.
set -eu
cd "$(dirname "$0")/.."
target=${1:-cpu}
base=$(sed -n 's/^FROM \(python:[^ ]*\) AS tools$/\1/p' docker/Dockerfile)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
run() { buildah --root "$folder/storage" --runroot "$folder/run" "$@"; }

packages=python3,python3-venv,python3-pip,ca-certificates,netbase
debootstrap --variant=minbase --include="$packages" bookworm "$folder/root" > "$folder/debootstrap.log"
rm -f "$folder"/root/usr/lib/python3*/EXTERNALLY-MANAGED # Debian's, which the real base image has not
ln -s python3 "$folder/root/usr/bin/python"
cp /etc/ssl/certs/ca-certificates.crt "$folder/root/etc/ssl/certs/" # so that a registry's mirror is trusted inside too
made=$(run from scratch)
run copy --quiet "$made" "$folder/root" /
run commit --quiet "$made" "docker.io/library/$base"

run build --pull-never --format docker --ignorefile docker/Dockerfile.dockerignore --file docker/Dockerfile \
    --target "$target" --tag "sciret:$target" .
made=$(run from --pull-never "localhost/sciret:$target")
# shellcheck disable=SC2016 # what is quoted is for the shell inside
run run "$made" -- sh -euc '
    test "$(id -u)" = 10001
    sciret models default
    echo "{\"id\": \"a\", \"title\": \"Sea ice is thin\"}" | sciret ingest - --format jsonl
    sciret search ice
'
