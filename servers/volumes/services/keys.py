"""Passphrases of encrypted volumes and backups: the one interface to where they are.

They are made here, never shown to users or administrators, and sealed with a key of the installation's own.
"""

import secrets
import uuid
from collections.abc import Collection, Iterator
from contextlib import suppress

from controlplane.infra.db import pages_by_key
from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt, secret_renew
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import VolumeKey

PURPOSE = b"volume keys"


def volume_key_make(*, owner_id: uuid.UUID) -> None:
    """Make the passphrase of a new volume; one that has its own already keeps it."""
    sealed = secret_encrypt(secrets.token_urlsafe(32), purpose=PURPOSE)
    VolumeKey.objects.bulk_create([VolumeKey(owner_id=owner_id, sealed=sealed)], ignore_conflicts=True)


def volume_key_copy(*, owner_id: uuid.UUID, of: uuid.UUID) -> None:
    """Give a copy of encrypted bytes the passphrase of what it was copied from. Raises NotFound.

    It is sealed with the present key, so that no old seal is passed on behind a renewal; one that no key opens is
    passed on as it is, since its key may be found again.
    """
    sealed = VolumeKey.objects.filter(owner_id=of).values_list("sealed", flat=True).first()
    if sealed is None:
        raise NotFound(_("There is no key of {of}.", of=of))
    with suppress(Invalid):
        sealed = secret_renew(sealed, purpose=PURPOSE)
    VolumeKey.objects.bulk_create([VolumeKey(owner_id=owner_id, sealed=sealed)], ignore_conflicts=True)


def volume_key_open(*, owner_id: uuid.UUID) -> str:
    """The passphrase: for hosts that have work for the volume, or an instance with it. Raises NotFound, and Invalid
    where no key of this process opens it.
    """
    sealed = VolumeKey.objects.filter(owner_id=owner_id).values_list("sealed", flat=True).first()
    if sealed is None:
        raise NotFound(_("There is no key of {owner_id}.", owner_id=owner_id))
    try:
        return secret_decrypt(sealed, purpose=PURPOSE)
    except Invalid as error:
        raise Invalid(
            _(
                "The passphrase of {owner_id} was stored under another SECRET_KEY. Nobody can set it anew: an "
                "administrator has to add that key to SECRET_KEY_FALLBACKS.",
                owner_id=owner_id,
            ),
            field="secret",
        ) from error


def volume_keys_equal(*, owner_id: uuid.UUID, among: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Of these volumes those with the same passphrase; none where no key of this process opens it. One query."""
    rows = VolumeKey.objects.filter(owner_id__in=[owner_id, *among])
    opened = {}
    for row in rows:
        with suppress(Invalid):
            opened[row.owner_id] = secret_decrypt(row.sealed, purpose=PURPOSE)
    mine = opened.pop(owner_id, None)
    return {pk for pk, one in opened.items() if one == mine}


def volume_keys_unreadable(*, among: int | None = None) -> Iterator[uuid.UUID]:
    """The volumes and backups whose passphrase no key of this process opens; looks at so many, by id, or at all."""
    rows = VolumeKey.objects.order_by("pk")
    pages = pages_by_key(rows) if among is None else iter([list(rows[:among])])
    return (row.owner_id for page in pages for row in page if not _is_open(row.sealed))


def _is_open(sealed: str) -> bool:
    try:
        secret_decrypt(sealed, purpose=PURPOSE)
    except Invalid:
        return False
    return True


def volume_key_remove(*, owner_id: uuid.UUID) -> None:
    """Forget the passphrase, with which the bytes are gone too wherever they are."""
    VolumeKey.objects.filter(owner_id=owner_id).delete()
