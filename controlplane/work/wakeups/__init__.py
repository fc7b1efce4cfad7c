"""Wake-ups: wake whoever serves a queue. They carry (code, identifier) and may be lost, late or doubled."""

from controlplane.work.wakeups.receivers import Bell, Ring, bell_open
from controlplane.work.wakeups.send import doorbell_ring, doorbells_ring

__all__ = ["Bell", "Ring", "bell_open", "doorbell_ring", "doorbells_ring"]
