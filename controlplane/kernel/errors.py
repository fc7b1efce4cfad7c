"""Errors of the domain. They carry a stable code and, for bad input, the field; no HTTP here.

`infra.api.errors` maps each class to a status and to the body of its door. A class says whether the same call
may succeed later (`retryable`), so that no caller has to guess.
"""

from typing import Any, ClassVar


class KilonovaError(Exception):
    """Base of all expected failures. `message` is for people and safe to show to them."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, field: str | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.extra = extra


class Invalid(KilonovaError):
    """The input cannot be accepted, whatever the state of the world."""

    code = "invalid"


class InvalidFields(Invalid):
    """Several fields are wrong at once: `errors` maps each to its reasons."""

    code = "invalid"

    def __init__(self, errors: dict[str, list[str]]) -> None:
        field, reasons = next(iter(errors.items()))
        super().__init__(reasons[0], field=field)
        self.errors = errors


class NotFound(KilonovaError):
    """No such thing, or none that the caller may know of."""

    code = "not_found"


class Forbidden(KilonovaError):
    """The caller is known and lacks the role for this."""

    code = "forbidden"


class QuotaExceeded(Forbidden):
    """Granting this would go over the project's quota; `extra` has requested, used and limit."""

    code = "quota_exceeded"


class Conflict(KilonovaError):
    """The thing is not in a state that allows this, or somebody else changed it first."""

    code = "conflict"
    retryable = True


class Fenced(Conflict):
    """The caller's lease is over: another attempt owns this work. Stop at once and write nothing more."""

    code = "fenced"
    retryable = False


class NoCapacity(KilonovaError):
    """A claim found no room; `extra` names provider, class, wanted and free."""

    code = "no_capacity"
    retryable = True


class Unavailable(KilonovaError):
    """A part this needs (hypervisor, broker, database) does not answer now."""

    code = "unavailable"
    retryable = True


class Throttled(KilonovaError):
    """Too many or too dear for now; `extra` has `wait_s`, after which it may be asked again."""

    code = "throttled"
    retryable = True


class TooLarge(Invalid):
    """More bytes than are accepted."""

    code = "too_large"
