"""The fleet (cells, host mappings, services, compute nodes, aggregates) and the choice of a host for an instance."""
