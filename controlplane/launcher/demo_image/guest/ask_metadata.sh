#!/bin/busybox sh
# Run when a card got its address: a guest without a config drive asks the metadata service who it is. Once is enough.
export PATH=/bin
documents=http://169.254.169.254/openstack/latest
[ ! -e /run/introduced ] && mkdir /run/metadata 2>/dev/null || exit 0
cd /run/metadata || exit 1

# Debian's static busybox breaks down over `wget -T`, so the limit comes from outside.
fetch() { timeout 5 wget -q -O "$1" "$documents/$1"; }

for _ in 1 2 3 4 5 6 7 8 9 10; do
    if fetch meta_data.json; then
        fetch user_data || rm -f user_data
        : >/run/introduced
        exec /lib/introduce.sh /run/metadata
    fi
    sleep 1
done 2>/dev/null
cd / && rm -r /run/metadata # the next lease asks again
