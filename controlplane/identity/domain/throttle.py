"""How long a username has to wait after wrong passwords from one address.

Failures count per username AND address, the wait is short and never grows past a minute, and a refused try adds
nothing: so guessing is slow (about 1,500 tries a day), while nobody can lock an administrator out from elsewhere.
"""

import math

FREE_FAILURES = 5
LONGEST_WAIT_S = 60
FORGOTTEN_AFTER_S = 900


def wait_s(*, failures: int, since_last_s: float) -> int:
    """Seconds until the next try is looked at: 0 when it may come now.

    The first `FREE_FAILURES` cost nothing; then 2, 4, 8 ... seconds after the last failure, at most a minute.
    """
    if failures < FREE_FAILURES or since_last_s >= FORGOTTEN_AFTER_S:
        return 0
    doublings = min(failures - FREE_FAILURES + 1, 6)  # the sixth passes the longest wait
    pause: int = min(2**doublings, LONGEST_WAIT_S)
    return max(0, math.ceil(pause - since_last_s))
