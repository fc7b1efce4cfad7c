"""The password that a guest made up for its owner and told its metadata service: kept encrypted, once, until cleared.

Nova's `os-server-password`: https://docs.openstack.org/api-ref/compute/#servers-password-servers-os-server-password.
"""

import uuid
from collections.abc import Collection

from django.db import transaction

from computeagent.protocol.metadata import PASSWORD_MAX_BYTES
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.instances.selectors.instances import instance_get
from servers.instances.services.metadata_changes import guest_documents_changed
from servers.models import GuestPassword, Instance

PURPOSE = b"kilonova guest password"


def guest_password_store(*, host: str, instance_uuid: str, password: str) -> None:
    """Keep what the guest told. Told again it is one. Raises NotFound for a guest of another host, Conflict where
    another one is kept, and Invalid.
    """
    if not password or len(password.encode()) > PASSWORD_MAX_BYTES:
        raise Invalid(
            _("A guest's password has from 1 to {password_max_bytes} bytes.", password_max_bytes=PASSWORD_MAX_BYTES),
            field="password",
        )
    not_here = NotFound(_("This host has no such instance."))
    if (pk := parse_uuid(instance_uuid)) is None:
        raise not_here
    with transaction.atomic():
        here = Instance.objects.select_for_update().filter(pk=pk, host=host, deleted_at__isnull=True)
        if (instance := here.first()) is None:
            raise not_here
        stored = guest_passwords([instance.pk]).get(instance.pk)
        if stored == password:
            return
        if stored:
            raise Conflict(_("The guest told a password before; its owner clears it first."))
        values = {"encrypted": secret_encrypt(password, purpose=PURPOSE)}
        GuestPassword.objects.update_or_create(instance_uuid=instance.pk, defaults=values)
        guest_documents_changed(instance)


def guest_password_read(*, caller: Caller, instance_id: uuid.UUID) -> str:
    """As the guest told it, which is as a rule encrypted for its owner's SSH key; empty where it told none."""
    require(caller, "instances:guest_password")
    instance = instance_get(caller=caller, instance_id=instance_id)
    return guest_passwords([instance.pk]).get(instance.pk, "")


@audited("instance.guest_password_clear", Instance, by="instance_id")
def guest_password_clear(*, caller: Caller, instance_id: uuid.UUID) -> None:
    """Forget it: the guest may tell another one. Nothing there is a success."""
    require(caller, "instances:guest_password:clear")
    instance = instance_get(caller=caller, instance_id=instance_id)
    with transaction.atomic():
        if GuestPassword.objects.filter(instance_uuid=instance.pk).delete()[0]:
            guest_documents_changed(instance)


def guest_passwords(instance_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Those that are kept of these instances. One that was stored under another SECRET_KEY counts as none."""
    found = {}
    for row in GuestPassword.objects.filter(instance_uuid__in=instance_ids):
        try:
            found[row.instance_uuid] = secret_decrypt(row.encrypted, purpose=PURPOSE)
        except Invalid:
            continue
    return found
