"""Refusals at the login. They name no reason that would tell a stranger which usernames exist."""

from controlplane.kernel.errors import KilonovaError


class LoginRefused(KilonovaError):
    """Unknown user, wrong password or disabled user: deliberately one message for all three."""

    code = "login_refused"

    def __init__(self) -> None:
        super().__init__("The username or the password is wrong.")


class LoginThrottled(KilonovaError):
    """Too many wrong passwords for this username from this address; the next try is looked at in `wait_s`."""

    code = "login_throttled"
    retryable = True

    def __init__(self, wait_s: int) -> None:
        super().__init__(
            f"Too many failed logins for this username from this address: try again in {wait_s} s.", wait_s=wait_s
        )
        self.wait_s = wait_s
