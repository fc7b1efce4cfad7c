"""Changing key pairs. They belong to users, whatever project they work in."""

import uuid
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from controlplane.kernel.errors import Conflict, NotFound, QuotaExceeded
from servers.catalog.domain.public_keys import PublicKey, key_name_reasons, new_key, public_key_parse
from servers.conf import server_options
from servers.fields import refuse_if
from servers.models import KeyPair


@dataclass(frozen=True, slots=True)
class GeneratedKeyPair:
    """A key pair made here. `private_key` is shown once and stored nowhere."""

    keypair: KeyPair
    private_key: str


def keypair_create(*, user_id: uuid.UUID, name: str, public_key: str) -> KeyPair:
    """Keep a public key. Raises Invalid for name or key, Conflict for a taken name, QuotaExceeded."""
    refuse_if({"name": key_name_reasons(name)})
    return _store(user_id, name, public_key_parse(public_key))


def keypair_generate(*, user_id: uuid.UUID, name: str) -> GeneratedKeyPair:
    """Make an Ed25519 pair and store its public half. Raises as `keypair_create`."""
    refuse_if({"name": key_name_reasons(name)})
    key = new_key(name.replace(" ", "-"))
    return GeneratedKeyPair(_store(user_id, name, key.public), key.private_key)


def keypair_delete(*, user_id: uuid.UUID, name: str) -> None:
    """Delete a key pair. Instances made with it have their own copy of the key. Raises NotFound."""
    deleted, _ = KeyPair.objects.filter(user_id=user_id, name=name).delete()
    if not deleted:
        raise NotFound(f"Key pair {name:.80} does not exist.")


def _store(user_id: uuid.UUID, name: str, key: PublicKey) -> KeyPair:
    limit = server_options().key_pairs_per_user
    used = KeyPair.objects.filter(user_id=user_id).count()
    if used >= limit:
        raise QuotaExceeded(f"You have {used} of {limit} key pairs.", field="name", requested=1, used=used, limit=limit)
    try:
        with transaction.atomic():
            return KeyPair.objects.create(user_id=user_id, name=name, public_key=key.line, fingerprint=key.fingerprint)
    except IntegrityError as error:
        raise Conflict(f"You have a key pair named {name} already.", field="name") from error
