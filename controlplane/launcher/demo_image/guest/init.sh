#!/bin/busybox sh
# First program of the demo guest. Brings up the machine, says who it is on the serial console, then hands
# over to busybox init, which keeps shells on the consoles and the listener for the power button.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /run /mnt /root /var/run
mount -t devpts pts /dev/pts
mount -t tmpfs run /run

say() {
    echo "$*"
    if [ -c /dev/tty1 ]; then echo "$*" >/dev/tty1; fi
}

load() {
    while read -r module; do insmod "/lib/modules/$module.ko" 2>/dev/null; done <"/lib/modules/$1"
}

# An ISO 9660 volume carries its label at byte 32808, a FAT one at byte 43 (FAT16) or 71 (FAT32).
labelled() {
    for place in 32808 43 71; do
        label=$(dd if="$1" bs=1 skip=$place count=8 2>/dev/null)
        case "$label" in config-2 | CONFIG-2) return 0 ;; esac
    done
    return 1
}

find_config_drive() {
    for disk in /dev/sr? /dev/vd? /dev/sd?; do
        if [ -b "$disk" ] && labelled "$disk" && mount -o ro "$disk" /mnt 2>/dev/null; then return 0; fi
    done
    return 1
}

wait_for_config_drive() {
    if find_config_drive; then return 0; fi
    load storage
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        if find_config_drive; then return 0; fi
        usleep 200000
    done
    return 1
}

introduce() {
    if wait_for_config_drive; then
        : >/run/introduced
        sh /lib/introduce.sh /mnt/openstack/latest
        umount /mnt
    else
        hostname guest
        say "Hello from a guest without a config drive"
    fi
}

bring_up_network() {
    ip link set lo up
    for card in /sys/class/net/eth*; do
        [ -e "$card" ] || { say "Network: no card"; return; }
        card=${card##*/}
        ip link set "$card" up
        # Stays in the background until somebody answers: a network may come later than its guest.
        udhcpc -i "$card" -b -S -t 4 -T 1 -A 15 -x "hostname:$(hostname)" -s /lib/udhcpc.sh >/dev/null 2>&1 &
    done
}

load base
introduce
bring_up_network
exec /bin/busybox init
