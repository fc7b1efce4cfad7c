"""How long a log-in has to wait after wrong passwords.

Failures count in three buckets: per username AND address, per address (many names from one place), and per username
(one name from many places), the last two with higher limits. The wait is short and never grows past a minute, and a
refused try adds nothing: so guessing is slow (about 1,500 tries a day for an address).

Wrong codes of the second factor count in a bucket of their own, per username: only who has the password gets that far.
So do tokens of enrolment that nobody made, per address: a hypervisor's mistake is no person's.

Nobody is locked out by a stranger: who logged in from an address during the last `KNOWN_FOR_S` answers there for
the failures of this name at this address alone.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Bucket(StrEnum):
    """What failures are counted together."""

    PAIR = "pair"
    ADDRESS = "address"
    NAME = "name"
    CODE = "code"
    ENROLMENT = "enrol"


FREE_FAILURES = 5
FREE: Mapping[Bucket, int] = MappingProxyType(
    {Bucket.PAIR: FREE_FAILURES, Bucket.ADDRESS: 50, Bucket.NAME: 100, Bucket.CODE: 5, Bucket.ENROLMENT: 10}
)
KNOWN_FOR_S = 30 * 86400
LONGEST_WAIT_S = 60
FORGOTTEN_AFTER_S = 900


def login_wait_s(*, failures: int, since_last_s: float, free: int = FREE_FAILURES) -> int:
    """Seconds until the next try is accepted: 0 when it may come now.

    The first `free` cost nothing; then 2, 4, 8 ... seconds after the last failure, at most a minute.
    """
    if failures < free or since_last_s >= FORGOTTEN_AFTER_S:
        return 0
    doublings = min(failures - free + 1, 6)  # the sixth passes the longest wait
    pause: int = min(2**doublings, LONGEST_WAIT_S)
    return max(0, math.ceil(pause - since_last_s))
