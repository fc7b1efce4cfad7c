"""The two cells that every installation has."""

import uuid

CELL0_ID = uuid.UUID(int=0)
"""Holds instances that never got a host."""
CELL1_ID = uuid.UUID(int=1)
"""Holds the hosts, until an operator adds more cells."""
