"""Networks, ports, security groups, routers and floating addresses, as Neutron has them."""
