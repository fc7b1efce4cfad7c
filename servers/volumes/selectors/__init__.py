"""Reading of volumes."""
