"""Fetching a file from a server that somebody else chose."""
