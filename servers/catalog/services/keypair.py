"""Changing key pairs. They belong to users, whatever project they work in."""

import uuid
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.public_keys import PublicKey, key_name_reasons, new_key, public_key_parse
from servers.catalog.services.quota import owner_quota_check
from servers.fields import refuse_if
from servers.models import KeyPair


@dataclass(frozen=True, slots=True)
class GeneratedKeyPair:
    """A key pair made here. `private_key` is shown once and stored nowhere."""

    keypair: KeyPair
    private_key: str


@audited("keypair.create", KeyPair)
def keypair_create(*, user_id: uuid.UUID, name: str, public_key: str, project_id: uuid.UUID | None = None) -> KeyPair:
    """Keep a public key. `project_id`: where the user is at work, whose limit counts. Raises Invalid for name or key,
    Conflict for a taken name, QuotaExceeded.
    """
    refuse_if({"name": key_name_reasons(name)})
    return _store(user_id, project_id, name, public_key_parse(public_key), given_text=public_key)


@audited("keypair.create", KeyPair, row=lambda made: made.keypair)
def keypair_generate(*, user_id: uuid.UUID, name: str, project_id: uuid.UUID | None = None) -> GeneratedKeyPair:
    """Make an Ed25519 pair and store its public half. Raises as `keypair_create`."""
    refuse_if({"name": key_name_reasons(name)})
    key = new_key(name.replace(" ", "-"))
    return GeneratedKeyPair(_store(user_id, project_id, name, key.public), key.private_key)


@audited("keypair.delete")
def keypair_delete(*, user_id: uuid.UUID, name: str) -> None:
    """Delete a key pair. Instances made with it have their own copy of the key. Raises NotFound."""
    deleted, _rest = KeyPair.objects.filter(user_id=user_id, name=name).delete()
    if not deleted:
        raise NotFound(_("Key pair {name:.80} does not exist.", name=name))


def _store(
    user_id: uuid.UUID, project_id: uuid.UUID | None, name: str, key: PublicKey, *, given_text: str = ""
) -> KeyPair:
    used = {"key_pairs": KeyPair.objects.filter(user_id=user_id).count()}
    owner_quota_check(project_id=project_id, user_id=user_id, asked={"key_pairs": 1}, used=used, field="name")
    try:
        with transaction.atomic():
            return KeyPair.objects.create(
                user_id=user_id,
                name=name,
                public_key=key.line,
                given_text="" if given_text == key.line else given_text,
                fingerprint=key.fingerprint,
            )
    except IntegrityError as error:
        raise Conflict(_("You have a key pair named {name} already.", name=name), field="name") from error
