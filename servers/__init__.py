"""What users own: flavors, images, key pairs, server groups, networks, instances; and the way of a request."""
