"""Refusals at the login. They give no reason from which a stranger learns which usernames exist."""

from controlplane.identity.domain.throttle import Bucket
from controlplane.kernel.errors import Forbidden, KilonovaError, Unavailable
from controlplane.kernel.texts import phrase as _

OF_WHAT = {
    Bucket.PAIR: _("for this username from this address"),
    Bucket.ADDRESS: _("from this address"),
    Bucket.NAME: _("for this username"),
    Bucket.CODE: _("with a code of the second factor"),
    Bucket.ENROLMENT: _("with a token of enrolment from this address"),
}


class LoginRefused(KilonovaError):
    """Unknown user, wrong password or disabled user: deliberately one message for all three."""

    code = "login_refused"

    def __init__(self) -> None:
        super().__init__(_("The username or the password is wrong."))


class LoginThrottled(KilonovaError):
    """Too many wrong passwords in one of the buckets; the next try is accepted in `wait_s`."""

    code = "login_throttled"
    retryable = True

    def __init__(self, wait_s: int, bucket: Bucket = Bucket.PAIR) -> None:
        super().__init__(
            _("Too many failed logins {of_what}: try again in {wait_s} s.", of_what=OF_WHAT[bucket], wait_s=wait_s),
            wait_s=wait_s,
        )
        self.wait_s = wait_s


class LoginsBusy(Unavailable):
    """More log-ins at once than this process checks: hashing passwords must not take the time of everything else."""

    code = "logins_busy"

    def __init__(self) -> None:
        super().__init__(_("Too many people log in at this moment: try again in a second."))


class SecondFactorNeeded(LoginRefused):
    """The password was right and is not enough."""

    code = "second_factor_needed"

    def __init__(self, message: str) -> None:
        KilonovaError.__init__(self, message, field="code")


class DirectoryUnavailable(Unavailable):
    """The LDAP directory does not answer, so nobody who is known there can log in. Local users can."""

    code = "directory_unavailable"

    def __init__(self) -> None:
        super().__init__(_("The directory that knows you does not answer now: try again in a moment."))


class ProjectNeeded(Forbidden):
    """What acts in a project was asked for by somebody who calls as a person of the system, and so is in none."""

    code = "project_needed"

    def __init__(self, what: str = "This") -> None:
        super().__init__(
            _("{what} acts in a project: it needs a token of a project, and this one is of the system.", what=what)
        )


class OutsiderRefused(Forbidden):
    """The source vouches for this person, who is refused here all the same."""

    code = "outsider_refused"
