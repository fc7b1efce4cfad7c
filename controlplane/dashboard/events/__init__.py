"""Streams that tell open pages of changes."""
