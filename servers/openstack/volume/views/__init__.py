"""What the Volume API does: read a request, call a service or selector, write the answer."""
