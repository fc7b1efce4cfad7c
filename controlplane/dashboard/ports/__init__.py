"""Pages of ports: what connects an instance, a router or a floating address to a network."""
