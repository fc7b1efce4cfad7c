"""Who has a second factor, and who has to have one."""

from controlplane.identity.conf import identity_options
from controlplane.identity.models import RecoveryCode, SecondFactor, User
from controlplane.identity.selectors import may_operate
from controlplane.infra.secret_encryption import secret_decrypt

PURPOSE = b"second-factor"


def second_factor_of(*, user: User) -> SecondFactor | None:
    """The user's second factor, once it counts."""
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()


def secret_begun(*, user: User) -> str | None:
    """The secret that waits for its first code, to be shown to its owner; None where none waits.

    Raises Invalid where it was stored under another SECRET_KEY.
    """
    row = SecondFactor.objects.filter(user=user, confirmed_at__isnull=True).first()
    return None if row is None else secret_decrypt(row.sealed_secret, purpose=PURPOSE)


def recovery_codes_left(*, user: User) -> int:
    """How many recovery codes were not used yet."""
    return RecoveryCode.objects.filter(factor__user=user).count()


def is_second_factor_required(*, user: User) -> bool:
    """Whether this user has to have one, by the installation's setting."""
    match identity_options().second_factor_required:
        case "everybody":
            return True
        case "staff":
            return may_operate(user=user)
        case _:
            return False


def is_required_of_row(*, user: User) -> bool:
    """The same as far as the user's own row says it, without a query: the role admin is not seen."""
    required = identity_options().second_factor_required
    return required == "everybody" or (required == "staff" and (user.is_staff or user.is_superuser))
