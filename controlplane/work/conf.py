"""Limits that the process tree and the checks of its settings share. Times are seconds."""

PULSE_LIMIT_S = 10.0
"""How long the guard loop of the conductor may be silent before the whole tree ends."""
