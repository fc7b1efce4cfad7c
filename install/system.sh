#!/bin/sh
# system.sh run|test|test-long [PYTHON]: have the Debian packages that running (or testing) Kilonova needs.
#
# Installs only what is missing, and waits while another program holds the package manager's lock. Where nothing can be
# installed (no Debian, no root) it names what is missing and ends well: Kilonova then runs with simulated hypervisors.
# For the tests an installation that failed ends with status 1, unless KILONOVA_SKIP_SERVICES=1 says that they shall do
# without; a lock that is never given back does so always.
set -eu
here=$(dirname "$0")
purpose=$1
python=${2:-python3}

wanted=$(cat "$here/packages-run.txt")
if [ "$purpose" != run ]; then wanted="$wanted $(cat "$here/packages-test.txt")"; fi
if [ "$purpose" = test-long ]; then wanted="$wanted $(cat "$here/packages-test-long.txt")"; fi

say() { echo "install: $*" >&2; }

# A Python that is not Debian's brings its own venv and headers; Debian's has them in packages of their own.
python_lacks() { ! "$python" -c "$1" 2>/dev/null; }
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if python_lacks 'import ensurepip'; then wanted="$wanted python$version-venv"; fi
if python_lacks 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'; then
    wanted="$wanted python$version-dev"
fi

list_missing() {
    for package in $wanted; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
            *"ok installed") ;;
            *) printf ' %s' "$package" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Another apt or dpkg is usually done within minutes. apt-get waits for the lock of packages by itself, and for that of the
# lists it does not, so it is asked again.
lock_wait_s=${KILONOVA_APT_WAIT_S:-300}
was_locked=0
apt_get() {
    began=$(date +%s)
    until as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o "DPkg::Lock::Timeout=$lock_wait_s" "$@" 2>"$apt_errors"; do
        cat "$apt_errors" >&2
        if ! grep -q 'Could not get lock\|Unable to acquire\|Unable to lock' "$apt_errors"; then return 1; fi
        if [ $(($(date +%s) - began)) -ge "$lock_wait_s" ]; then was_locked=1; return 1; fi
        say "another program holds the package manager's lock; waiting"
        sleep 2
    done
}

can_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

# Debian's libvirt looks this user up before it opens an embedded hypervisor; libvirt-daemon-system would make it,
# and bring system services along that nobody asked for.
have_qemu_user() {
    if getent passwd libvirt-qemu >/dev/null || ! can_be_root; then return 0; fi
    say "adding the system user libvirt-qemu"
    getent group libvirt-qemu >/dev/null || as_root groupadd --system libvirt-qemu
    as_root useradd --system --no-create-home --home-dir /var/lib/libvirt --shell /usr/sbin/nologin \
        --gid libvirt-qemu libvirt-qemu
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian system, so nothing is installed. What Debian calls:" $wanted
    exit 0
fi

missing=$(list_missing)
if [ -n "$missing" ]; then
    if ! can_be_root; then
        say "not root, and sudo asks for a password. Missing packages:$missing"
        say "install them with: apt-get install$missing"
        exit 0
    fi
    say "installing$missing"
    apt_errors=$(mktemp)
    trap 'rm -f "$apt_errors"' EXIT
    # shellcheck disable=SC2086 # a list of words is meant
    if ! { apt_get update -qq && apt_get install -y -qq --no-install-recommends $missing >&2; }; then
        say "apt-get failed; still missing:$(list_missing)"
        if [ "$was_locked" = 1 ]; then exit 1; fi
        if [ "$purpose" != run ] && [ "${KILONOVA_SKIP_SERVICES:-}" != 1 ]; then exit 1; fi
        exit 0
    fi
fi
have_qemu_user
