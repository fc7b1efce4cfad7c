"""Checking the secret of an application credential, with the brakes on guessing that passwords have."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from controlplane.identity.domain import LoginRefused
from controlplane.identity.domain.application_credential import is_secret_right
from controlplane.identity.domain.throttle import Bucket
from controlplane.identity.models import ApplicationCredential
from controlplane.identity.services.login_brakes import tries_count, tries_forget_old, tries_forgive
from controlplane.identity.services.logins import address_keep, buckets_of


@dataclass(frozen=True, slots=True)
class CredentialKey:
    """Which credential is meant: by its id, or by its name and its owner's."""

    id: UUID | None = None
    name: str = ""
    username: str = ""

    @property
    def text(self) -> str:
        """What tries are counted by. A slash is in no username."""
        return f"credential/{self.id or f'{self.username}/{self.name}'}"[:150]


def credential_check(*, key: CredentialKey, secret: str, address: str) -> ApplicationCredential:
    """The credential with this secret, with its owner and project.

    Raises LoginRefused, with the one message for all: there is none, the secret is wrong, it has expired, or the owner
    or the project is switched off. Raises LoginThrottled after too many wrong ones.
    """
    tries_forget_old()
    rows = ApplicationCredential.objects.select_related("user", "project")
    which = Q(pk=key.id) if key.id else Q(name=key.name, user__username=key.username)
    row = rows.filter(which).first()
    buckets = buckets_of(row.user if row else None, key.text, address[:64])
    tries_count(buckets)
    is_right = is_secret_right(secret, row.digest if row else "")
    is_over = rows.filter(which, Q(expires_at__lte=Now())).exists()
    if row is None or not is_right or is_over or not row.user.is_active or not row.project.enabled:
        raise LoginRefused
    tries_forgive(buckets, anew=Bucket.PAIR)
    address_keep(row.user, address[:64])
    return row
