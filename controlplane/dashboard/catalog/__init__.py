"""Pages of what instances are made of: flavors, key pairs, server groups."""
