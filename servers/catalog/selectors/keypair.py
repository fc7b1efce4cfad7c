"""Reading key pairs: everybody sees only their own."""

import uuid

from django.db.models import QuerySet

from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import KeyPair


def keypairs_of(*, user_id: uuid.UUID) -> QuerySet[KeyPair]:
    """All key pairs of a user."""
    return KeyPair.objects.filter(user_id=user_id)


def keypair_get(*, user_id: uuid.UUID, name: str) -> KeyPair:
    """The user's key pair of this name. Raises NotFound."""
    keypair = keypairs_of(user_id=user_id).filter(name=name).first()
    if keypair is None:
        raise NotFound(_("Key pair {name:.80} does not exist.", name=name))
    return keypair


def keypair_for_instance(*, user_id: uuid.UUID, name: str) -> KeyPair:
    """The user's key pair of this name. Raises Invalid for the field `key_name`."""
    keypair = keypairs_of(user_id=user_id).filter(name=name).first()
    if keypair is None:
        raise Invalid(_("Key pair {name:.80} does not exist.", name=name), field="key_name")
    return keypair
