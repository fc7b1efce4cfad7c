"""Pages of instances: list, create, one instance with its journey and console."""
