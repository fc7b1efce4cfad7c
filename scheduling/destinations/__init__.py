"""select_destinations: from a request to claimed hosts."""
