"""Placement: who has how much of what, who uses it, and the one atomic claim that keeps the two honest."""
