"""Decisions: recorded when they are made, read, replayed, pruned."""
