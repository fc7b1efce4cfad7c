"""Volume types as the Volume API shows them."""

from servers.models import VolumeType
from servers.openstack.volume.call import VolumeCall
from servers.openstack.volume.extra_specs import specs_shown
from servers.openstack.volume.shapes_installation import (
    ChangedTypeJson,
    EncryptionShown,
    LuksJson,
    MadeTypeJson,
    QosField,
    TypeJson,
)

LUKS: LuksJson = {"provider": "luks", "control_location": "front-end", "cipher": None, "key_size": None}
"""How volumes are encrypted: on the hypervisor, with the cipher that its libraries have for LUKS."""


def type_json(call: VolumeCall, row: VolumeType) -> TypeJson:
    """One type. Limits per second are the type's own, so there are no QoS specs beside it."""
    added: QosField = {"qos_specs_id": None} if call.sees_all else {}
    return {**made_type_json(call, row), **added}


def made_type_json(call: VolumeCall, row: VolumeType) -> MadeTypeJson:
    """One type as what makes it answers: Cinder says nothing of QoS there."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "description": row.description,
        "is_public": row.is_public,
        "os-volume-type-access:is_public": row.is_public,
        "extra_specs": specs_shown(row, sees_all=call.sees_all),
    }


def changed_type_json(call: VolumeCall, row: VolumeType) -> ChangedTypeJson:
    """One type as what changes it answers: Cinder's extensions add nothing there."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "description": row.description,
        "is_public": row.is_public,
        "extra_specs": specs_shown(row, sees_all=call.sees_all),
    }


def encryption_json(row: VolumeType) -> EncryptionShown:
    """How volumes of the type are encrypted; nothing where they are not."""
    return {"volume_type_id": str(row.pk), "encryption_id": str(row.pk), **LUKS} if row.is_encrypted else {}
