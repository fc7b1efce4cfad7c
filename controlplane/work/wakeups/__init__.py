"""Wake-ups: wake whoever serves a queue. They carry (code, identifier) and may be lost, late or doubled."""

from controlplane.work.wakeups.received import ReceivedWakeup
from controlplane.work.wakeups.receivers import WakeupWaiter, waiter_open
from controlplane.work.wakeups.send import wakeup_send, wakeups_send

__all__ = ["ReceivedWakeup", "WakeupWaiter", "waiter_open", "wakeup_send", "wakeups_send"]
