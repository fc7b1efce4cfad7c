"""What instances are made of: flavors, key pairs, networks, server groups, and quota."""
