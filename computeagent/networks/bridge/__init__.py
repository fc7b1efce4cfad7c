"""Networks by what Linux has: bridges, VXLAN, nftables, network namespaces; and dnsmasq.

`compiling` says what a document means for a host (values, no commands); programs that the other modules run carry it
out.
"""
