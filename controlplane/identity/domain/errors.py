"""Refusals at the login. They give no reason from which a stranger learns which usernames exist."""

from controlplane.identity.domain.throttle import Bucket
from controlplane.kernel.errors import KilonovaError, Unavailable

OF_WHAT = {
    Bucket.PAIR: "for this username from this address",
    Bucket.ADDRESS: "from this address",
    Bucket.NAME: "for this username",
}


class LoginRefused(KilonovaError):
    """Unknown user, wrong password or disabled user: deliberately one message for all three."""

    code = "login_refused"

    def __init__(self) -> None:
        super().__init__("The username or the password is wrong.")


class LoginThrottled(KilonovaError):
    """Too many wrong passwords in one of the buckets; the next try is accepted in `wait_s`."""

    code = "login_throttled"
    retryable = True

    def __init__(self, wait_s: int, bucket: Bucket = Bucket.PAIR) -> None:
        super().__init__(f"Too many failed logins {OF_WHAT[bucket]}: try again in {wait_s} s.", wait_s=wait_s)
        self.wait_s = wait_s


class LoginsBusy(Unavailable):
    """More log-ins at once than this process checks: hashing passwords must not take the time of everything else."""

    code = "logins_busy"

    def __init__(self) -> None:
        super().__init__("Too many people log in at this moment: try again in a second.")
