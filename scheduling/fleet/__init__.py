"""The hosts: services, compute nodes, cells, aggregates, zones, and the cache that schedulers read."""
