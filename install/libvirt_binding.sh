#!/bin/sh
# libvirt_binding.sh VENV LOCK STAMP: build libvirt's Python binding where libvirt's headers are.
#
# Without them it says so and ends well: agents then run simulated hosts only.
set -eu
venv=$1 lock=$2 stamp=$3
if ! pkg-config --exists libvirt 2>/dev/null; then
    echo "install: no headers of libvirt (package libvirt-dev), so no real hypervisors" >&2
    exit 0
fi
if "$venv/bin/python" -m pip install --quiet --require-hashes --no-deps -r "$lock"; then
    touch "$stamp"
else
    echo "install: libvirt's Python binding could not be built, so no real hypervisors" >&2
fi
