"""The page of background work."""
