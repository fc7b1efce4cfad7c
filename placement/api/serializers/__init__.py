"""Shapes of the answers."""
