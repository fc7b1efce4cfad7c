"""Writing of volumes: one transaction a service, compare-and-set."""
