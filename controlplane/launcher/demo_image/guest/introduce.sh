#!/bin/busybox sh
# introduce.sh DIRECTORY: says on the consoles who this guest is, by the documents in the directory, lets the owners of
# its key pairs in, and runs its user data.
export PATH=/bin HOME=/root
cd "$1" || exit 1

say() {
    echo "$*" >/dev/console
    if [ -c /dev/tty1 ]; then echo "$*" >/dev/tty1; fi
}

metadata() { awk -v key="$1" -f /lib/json.awk meta_data.json; }

name=$(metadata name)
host=$(metadata hostname)
hostname "${host:-${name:-guest}}"
say "Hello from ${name:-a guest without a name}"
say "Instance $(metadata uuid), up after $(cut -d ' ' -f 1 /proc/uptime) s"

metadata public_keys >/run/public_keys
mkdir -p -m 700 /root/.ssh
awk -v key='*' -f /lib/json.awk /run/public_keys >/root/.ssh/authorized_keys

[ -s user_data ] || exit 0
say "User data:"
sed 's/^/| /' user_data >/dev/console
echo >/dev/console
if [ "$(head -c 2 user_data)" = "#!" ]; then
    cp user_data /run/user_data
    chmod 700 /run/user_data
    cd /  # the script may unmount what the documents are on
    /run/user_data >/dev/console 2>&1
    say "User data ended with status $?"
fi
