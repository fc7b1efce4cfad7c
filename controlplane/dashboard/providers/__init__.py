"""Pages of Placement's resource providers."""
