#!/bin/busybox sh
# Called by udhcpc with the state of a lease; puts the address on the card.
export PATH=/bin
case "$1" in
    deconfig)
        ip addr flush dev "$interface"
        ;;
    bound | renew)
        ip addr replace "$ip/$mask" dev "$interface"
        for gateway in $router; do ip route replace default via "$gateway" dev "$interface"; done
        : >/etc/resolv.conf
        for server in $dns; do echo "nameserver $server" >>/etc/resolv.conf; done
        if [ "$1" = bound ]; then echo "Network: $interface has $ip/$mask" >/dev/console; fi
        ;;
esac
