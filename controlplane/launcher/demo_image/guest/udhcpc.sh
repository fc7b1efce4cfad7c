#!/bin/busybox sh
# Called by udhcpc with the state of a lease; puts the address on the card.
export PATH=/bin

# Who tells classless routes (destination, next hop, ...) means them instead of the router (RFC 3442).
set_routes() {
    while [ $# -ge 2 ]; do
        if [ "$2" = 0.0.0.0 ]; then ip route replace "$1" dev "$interface"; else ip route replace "$1" via "$2" dev "$interface"; fi
        shift 2
    done
}

case "$1" in
    deconfig)
        ip addr flush dev "$interface"
        ;;
    bound | renew)
        ip addr replace "$ip/$mask" dev "$interface"
        if [ -n "$staticroutes" ]; then
            # shellcheck disable=SC2086 # a list of words is meant
            set_routes $staticroutes
        else
            for gateway in $router; do ip route replace default via "$gateway" dev "$interface"; done
        fi
        : >/etc/resolv.conf
        for server in $dns; do echo "nameserver $server" >>/etc/resolv.conf; done
        if [ "$1" = bound ]; then
            echo "Network: $interface has $ip/$mask" >/dev/console
            /lib/ask_metadata.sh >/dev/null 2>&1 &
        fi
        ;;
esac
