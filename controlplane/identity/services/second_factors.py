"""The second factor of a user: set up, asked for, taken away.

The secret is encrypted in its row. It counts from the first code on that was typed of it; a code counts once, however
many ask at the same moment, and so does a recovery code.

What checks a code counts the try in a transaction of its own: a refusal must not undo the count.
"""

import time

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import LoginRefused, SecondFactorNeeded
from controlplane.identity.domain.second_factor import (
    is_recovery_code,
    matching_step,
    new_recovery_codes,
    new_secret,
    recovery_digest,
)
from controlplane.identity.domain.throttle import Bucket
from controlplane.identity.models import RecoveryCode, SecondFactor, User
from controlplane.identity.selectors.second_factors import PURPOSE, is_second_factor_required, second_factor_of
from controlplane.identity.services.login_brakes import tries_count, tries_forget_old, tries_forgive
from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt
from controlplane.kernel.errors import Conflict, InvalidFields, NotFound
from controlplane.kernel.texts import phrase as _

WRONG = _("The code is wrong, or was used already.")
NEEDED = _("This user has a second factor: send its code too.")
TO_SET_UP = _("This user has to have a second factor: set it up by logging in to the pages.")


@audited("second_factor.begin", User, by="user")
@transaction.atomic
def second_factor_begin(*, user: User) -> None:
    """Make a secret, which counts once `second_factor_confirm` got a code of it. An earlier one that never counted is
    replaced. Raises Conflict for somebody who has a second factor.
    """
    sealed = secret_encrypt(new_secret(), purpose=PURPOSE)
    User.objects.select_for_update().get(pk=user.pk)
    if second_factor_of(user=user) is not None:
        raise Conflict(_("You have a second factor already: remove it first."))
    SecondFactor.objects.update_or_create(user=user, defaults={"sealed_secret": sealed, "last_step": 0})


@audited("second_factor.confirm", User, by="user", is_apart=True)
def second_factor_confirm(*, user: User, code: str) -> list[str]:
    """The first code: from now on it is asked for. Returns the recovery codes, which are shown once.

    Raises InvalidFields for a wrong code, Conflict where no secret waits, and LoginThrottled after too many.
    """
    factor = SecondFactor.objects.filter(user=user, confirmed_at__isnull=True).first()
    if factor is None:
        raise Conflict(_("No second factor waits for its first code: begin anew."))
    bucket = _counted(user)
    step = _step_of(factor, code)
    if step is None:
        raise InvalidFields({"code": [WRONG]})
    with transaction.atomic():
        rows = SecondFactor.objects.filter(pk=factor.pk, confirmed_at__isnull=True, sealed_secret=factor.sealed_secret)
        if not rows.update(confirmed_at=Now(), last_step=step):
            raise Conflict(_("The second factor was set up anew meanwhile: look again."))
        codes = _recovery_codes_make(factor)
    tries_forgive(bucket, anew=Bucket.CODE)
    return codes


def second_factor_check(*, user: User, code: str) -> None:
    """A code of the app, or a recovery code, which is gone then. Raises InvalidFields and LoginThrottled."""
    factor = second_factor_of(user=user)
    tries_forget_old()
    bucket = _counted(user)
    if factor is None or not _is_good(factor, code):
        raise InvalidFields({"code": [WRONG]})
    tries_forgive(bucket, anew=Bucket.CODE)


def _counted(user: User) -> dict[Bucket, tuple[str, str]]:
    bucket = {Bucket.CODE: (user.username, "")}
    tries_count(bucket)
    return bucket


def _is_good(factor: SecondFactor, code: str) -> bool:
    if is_recovery_code(code):
        return bool(RecoveryCode.objects.filter(factor=factor, digest=recovery_digest(code)).delete()[0])
    step = _step_of(factor, code)
    if step is None:
        return False
    # Of two who send one code at the same moment, one finds it used.
    return bool(SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step))


def _step_of(factor: SecondFactor, code: str) -> int | None:
    secret = secret_decrypt(factor.sealed_secret, purpose=PURPOSE)
    # The device's clock is the wall's, and so is ours.
    return matching_step(secret, code, at=time.time(), after=factor.last_step)


def _recovery_codes_make(factor: SecondFactor) -> list[str]:
    codes = new_recovery_codes()
    RecoveryCode.objects.filter(factor=factor).delete()
    RecoveryCode.objects.bulk_create([RecoveryCode(factor=factor, digest=recovery_digest(one)) for one in codes])
    return codes


@audited("second_factor.recovery_codes", User, by="user", is_apart=True)
def recovery_codes_renew(*, user: User, code: str) -> list[str]:
    """Fresh recovery codes in place of all earlier ones, for a code of the app. Raises as `second_factor_check`."""
    second_factor_check(user=user, code=code)
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
        if factor is None:
            raise Conflict(_("The second factor was removed meanwhile."))
        return _recovery_codes_make(factor)


@audited("second_factor.give_up", User, by="user", is_apart=True)
def second_factor_give_up(*, user: User, code: str) -> None:
    """Remove one's own, for a code of it. Raises as `second_factor_check`, and Conflict for who has to have one."""
    if is_second_factor_required(user=user):
        raise Conflict(_("Who has your rights has to have a second factor here: an administrator can remove it."))
    second_factor_check(user=user, code=code)
    SecondFactor.objects.filter(user=user).delete()


@audited("second_factor.remove", User, by="user")
def second_factor_remove(*, user: User) -> None:
    """An administrator takes away the second factor of somebody whose device is lost. Raises NotFound for none."""
    if not SecondFactor.objects.filter(user=user).delete()[0]:
        raise NotFound(_("{username} has no second factor.", username=user.username))


def second_factor_ask(*, user: User, code: str | None) -> None:
    """For doors that take password and code in one call. Raises SecondFactorNeeded, LoginRefused, LoginThrottled."""
    if second_factor_of(user=user) is None:
        if is_second_factor_required(user=user):
            raise SecondFactorNeeded(TO_SET_UP)
        return
    if not code:
        raise SecondFactorNeeded(NEEDED)
    try:
        second_factor_check(user=user, code=code)
    except InvalidFields as error:
        raise LoginRefused from error
