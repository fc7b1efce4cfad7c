"""What each route of the Network API does."""
