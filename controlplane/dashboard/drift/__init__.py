"""Pages of drift and of heals."""
