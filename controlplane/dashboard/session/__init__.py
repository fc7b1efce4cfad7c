"""Logging in and out, the project one works in, light or dark."""
