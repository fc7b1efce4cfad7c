"""Volume types, their extra specs, who may use them, and whether their volumes are encrypted."""

from typing import Any, cast

from django.db.models import Q

from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request, not_found
from controlplane.openstack.schemas import CompiledSchema
from servers.models import VolumeType
from servers.openstack.paging import SortKey
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.action_table import VolumeActionTable, VolumeWireAction
from servers.openstack.volume.call import VolumeCall, described, flag_of, uuid_of
from servers.openstack.volume.documents.types import LUKS, changed_type_json, encryption_json, made_type_json, type_json
from servers.openstack.volume.extra_specs import EXTRA_SPECS, spec_fields, spec_removed, specs_shown
from servers.openstack.volume.listing import VolumeListFilter, VolumeListing, object_of, text_has, text_is
from servers.openstack.volume.schemas.bodies import (
    ENCRYPTION,
    EXTRA_SPEC_BODY,
    EXTRA_SPECS_BODY,
    TYPE_CREATE,
    TYPE_UPDATE,
)
from servers.openstack.volume.schemas.shapes import NAME, closed
from servers.openstack.volume.shapes_installation import (
    BesideTypes,
    ChangedTypeShown,
    EncryptionShown,
    ExtraSpecsShown,
    MadeTypeShown,
    NewEncryptionShown,
    TypeAccessJson,
    TypeAccessShown,
    TypeShown,
    TypesShown,
)
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.selectors.volume_types import (
    volume_type_default,
    volume_type_get,
    volume_type_projects,
    volume_types_visible,
)
from servers.volumes.services.types import (
    volume_type_access_add,
    volume_type_access_remove,
    volume_type_create,
    volume_type_delete,
    volume_type_update,
)


def _public(value: str) -> Q:
    """`None` asks for all, as clients of administrators write it."""
    return Q() if value.lower() == "none" else Q(is_public=flag_of("is_public", value))


def _specs(value: str) -> Q:
    """By what all users are shown."""
    specs = object_of(value)
    if hidden := sorted(key for key in specs if key not in EXTRA_SPECS or not EXTRA_SPECS[key].is_for_all):
        raise bad_request(f"Invalid filter: types are not listed by the extra spec {hidden[0]:.60}.")
    return Q(**spec_fields({key: str(text) for key, text in specs.items()}))


TYPES: VolumeListing[BesideTypes] = VolumeListing(
    links="volume_type_links",
    filters={
        "name": text_is("name"),
        "name~": text_has("name"),
        "is_public": VolumeListFilter(_public),
        "extra_specs": VolumeListFilter(_specs, since=52),
    },
    sort_keys={"id": "pk", "name": "name", "created_at": "created_at", "updated_at": "updated_at"},
    order=(SortKey("created_at", is_descending=True),),
)


def _row(call: VolumeCall, type_id: str) -> VolumeType:
    return volume_type_get(caller=call.caller, type_id=uuid_of(type_id, "Volume type"))


def types_list(call: VolumeCall) -> JsonAnswer[TypesShown]:
    """Those that the caller may use; all for administrators."""
    page = TYPES.page(call, volume_types_visible(call.caller))
    return call.answer({"volume_types": [type_json(call, row) for row in page.rows], **page.beside})


def type_show(call: VolumeCall, type_id: str) -> JsonAnswer[TypeShown]:
    """One of them; `default` is the one that volumes have which ask for none."""
    row = volume_type_default() if type_id == "default" else _row(call, type_id)
    if row is None:
        raise not_found("Default volume type can not be found.")
    return call.answer({"volume_type": type_json(call, row)})


def type_add(call: VolumeCall) -> JsonAnswer[MadeTypeShown]:
    """A new type."""
    said = call.named("volume_type", TYPE_CREATE)
    is_public = flag_of("is_public", said.get("os-volume-type-access:is_public", True))
    fields: dict[str, Any] = {**described(said), "is_public": is_public, **spec_fields(said.get("extra_specs") or {})}
    typed: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in fields.items()}
    made = volume_type_create(request=VolumeTypeRequest(**typed))
    return call.answer({"volume_type": made_type_json(call, made)})


def type_change(call: VolumeCall, type_id: str) -> JsonAnswer[ChangedTypeShown]:
    """Name, description, and whether all may use it."""
    said = call.named("volume_type", TYPE_UPDATE)
    changes: dict[str, Any] = described(said)
    if said.get("name", "") is None:
        del changes["name"]  # Clients write null for a name that stays.
    if "is_public" in said:
        changes["is_public"] = flag_of("is_public", said["is_public"])
    return call.answer({"volume_type": changed_type_json(call, _changed(type_id, changes))})


def type_remove(call: VolumeCall, type_id: str) -> Empty:
    """Remove one that no volume is of."""
    volume_type_delete(type_id=uuid_of(type_id, "Volume type"))
    return call.empty(status=202)


def specs_list(call: VolumeCall, type_id: str) -> JsonAnswer[ExtraSpecsShown]:
    """All that a type has."""
    return call.answer({"extra_specs": specs_shown(_row(call, type_id), sees_all=call.sees_all)})


def specs_add(call: VolumeCall, type_id: str) -> JsonAnswer[ExtraSpecsShown]:
    """Write some; others stay."""
    specs = call.named("extra_specs", EXTRA_SPECS_BODY)
    row = _changed(type_id, spec_fields(specs))
    shown = specs_shown(row, sees_all=True)
    return call.answer({"extra_specs": {key: shown[key] for key in specs if key in shown}})


def spec_show(call: VolumeCall, type_id: str, key: str) -> JsonAnswer[dict[str, str]]:
    """One of them."""
    shown = specs_shown(_row(call, type_id), sees_all=call.sees_all)
    if key not in shown:
        raise not_found(f"Volume Type {type_id} has no extra specs with key {key:.80}.")
    return call.answer({key: shown[key]})


def spec_put(call: VolumeCall, type_id: str, key: str) -> JsonAnswer[dict[str, str | None]]:
    """Write one."""
    said = call.body(EXTRA_SPEC_BODY)
    if set(said) != {key}:
        raise bad_request("Request body and URI mismatch: they name two keys.")
    _changed(type_id, spec_fields(said))
    return call.answer(said)


def spec_remove(call: VolumeCall, type_id: str, key: str) -> Empty:
    """Have the type as it is without it."""
    _changed(type_id, spec_removed(_row(call, type_id), key))
    return call.empty(status=202)


def access_list(call: VolumeCall, type_id: str) -> JsonAnswer[TypeAccessShown]:
    """The projects that may use a type which is not public."""
    row = _row(call, type_id)
    if row.is_public:
        raise not_found("Access list not available for public volume types.")
    projects = volume_type_projects(type_id=row.pk)
    shown: list[TypeAccessJson] = [{"volume_type_id": str(row.pk), "project_id": one.hex} for one in projects]
    return call.answer({"volume_type_access": shown})


def type_action(call: VolumeCall, type_id: str) -> Empty:
    """Give a type to a project, or take it back."""
    return TYPE_ACTIONS.answer(call, _row(call, type_id).pk)


def _access_add(call: VolumeCall, type_id: Any, said: dict[str, Any]) -> Empty:
    project_id = uuid_of(said["project"], "Project")
    if project_id in volume_type_projects(type_id=type_id):
        raise ApiFault(409, f"Volume type access for {type_id} / {said['project']:.80} combination already exists.")
    volume_type_access_add(type_id=type_id, project_id=project_id)
    return call.empty(status=202)


def _access_remove(call: VolumeCall, type_id: Any, said: dict[str, Any]) -> Empty:
    project_id = uuid_of(said["project"], "Project")
    volume_type_access_remove(type_id=type_id, project_id=project_id)
    return call.empty(status=202)


_PROJECT = CompiledSchema(closed(["project"], project=NAME))
TYPE_ACTIONS: VolumeActionTable[Empty] = VolumeActionTable(
    actions={
        "addProjectAccess": VolumeWireAction(VolumeAccess.TYPES_WRITE, _PROJECT, _access_add),
        "removeProjectAccess": VolumeWireAction(VolumeAccess.TYPES_WRITE, _PROJECT, _access_remove),
    },
    refused={},
)


def encryption_show(call: VolumeCall, type_id: str) -> JsonAnswer[EncryptionShown]:
    """How volumes of the type are encrypted."""
    return call.answer(encryption_json(_row(call, type_id)))


def encryption_key(call: VolumeCall, type_id: str, key: str) -> JsonAnswer[dict[str, str | None]]:
    """One of the words for it."""
    shown = encryption_json(_row(call, type_id))
    if key not in shown:
        raise not_found(f"Volume type {type_id} has no encryption {key:.80}.")
    return call.answer({key: cast("str | None", shown.get(key))})


def encryption_add(call: VolumeCall, type_id: str) -> JsonAnswer[NewEncryptionShown]:
    """Have volumes of the type encrypted, in the one way that there is."""
    said = call.named("encryption", ENCRYPTION)
    _row(call, type_id)
    for name, value in LUKS.items():
        if said.get(name, value) != value:
            raise bad_request(f"{name}: volumes are encrypted with {value or 'what the hypervisor has for LUKS'}.")
    _changed(type_id, {"is_encrypted": True})
    return call.answer({"encryption": {"volume_type_id": type_id, **LUKS}})


def encryption_remove(call: VolumeCall, type_id: str, key: str) -> Empty:
    """Have volumes of the type not encrypted."""
    row = _row(call, type_id)
    if not row.is_encrypted or key not in (str(row.pk), "provider"):
        raise not_found(f"Volume type {type_id} has no encryption {key:.80}.")
    _changed(type_id, {"is_encrypted": False})
    return call.empty(status=202)


def _changed(type_id: str, changes: dict[str, Any]) -> VolumeType:
    return volume_type_update(type_id=uuid_of(type_id, "Volume type"), changes=changes)
