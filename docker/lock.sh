#!/bin/sh
# Writes the lists of exact versions anew: run it when pyproject.toml changes, or to take up newer versions (--upgrade).
set -eu
cd "$(dirname "$0")/.."
lock() { python -m uv pip compile --quiet --generate-hashes --no-annotate --no-header --python-version 3.11 "$@"; }
lock --universal "$@" docker/requirements-build.in --output-file docker/requirements-build.txt
lock --universal "$@" pyproject.toml --extra cpu --output-file docker/requirements-cpu.txt
lock --python-platform x86_64-manylinux_2_28 "$@" pyproject.toml docker/requirements-gpu.in --extra gpu \
    --output-file docker/requirements-gpu.txt
