#!/bin/busybox sh
# Lets in who has a key of /root/.ssh/authorized_keys, and nobody by password. The public half of the host's key is on the
# console, so that who connects can compare. It is made here, beside the boot: a machine without a source of randomness
# needs a second to find some.
export PATH=/bin HOME=/root
key=/run/ssh_host_key
if [ ! -e "$key" ]; then
    dropbearkey -t ed25519 -f "$key" 2>/dev/null | sed -n 's/^ssh-/SSH host key: ssh-/p' >/dev/console
fi
exec dropbear -F -s -r "$key" -P /run/dropbear.pid 2>/dev/null
