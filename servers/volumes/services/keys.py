"""Passphrases of encrypted volumes and backups: the one interface to where they are.

They are made here, never shown to users or administrators, and sealed with a key of the installation's own.
"""

import secrets
import uuid

from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import VolumeKey

PURPOSE = b"volume keys"


def volume_key_make(*, owner_id: uuid.UUID) -> None:
    """Make the passphrase of a new volume; one that has its own already keeps it."""
    sealed = secret_encrypt(secrets.token_urlsafe(32), purpose=PURPOSE)
    VolumeKey.objects.bulk_create([VolumeKey(owner_id=owner_id, sealed=sealed)], ignore_conflicts=True)


def volume_key_copy(*, owner_id: uuid.UUID, of: uuid.UUID) -> None:
    """Give a copy of encrypted bytes the passphrase of what it was copied from. Raises NotFound."""
    sealed = VolumeKey.objects.filter(owner_id=of).values_list("sealed", flat=True).first()
    if sealed is None:
        raise NotFound(_("There is no key of {of}.", of=of))
    VolumeKey.objects.bulk_create([VolumeKey(owner_id=owner_id, sealed=sealed)], ignore_conflicts=True)


def volume_key_open(*, owner_id: uuid.UUID) -> str:
    """The passphrase: for hosts that have work for the volume, or an instance with it. Raises NotFound, and Invalid
    where it was sealed under another SECRET_KEY.
    """
    sealed = VolumeKey.objects.filter(owner_id=owner_id).values_list("sealed", flat=True).first()
    if sealed is None:
        raise NotFound(_("There is no key of {owner_id}.", owner_id=owner_id))
    return secret_decrypt(sealed, purpose=PURPOSE)


def volume_key_remove(*, owner_id: uuid.UUID) -> None:
    """Forget the passphrase, with which the bytes are gone too wherever they are."""
    VolumeKey.objects.filter(owner_id=owner_id).delete()
