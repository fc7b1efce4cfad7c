"""Resources of the Compute API as its clients read them, for each microversion."""
