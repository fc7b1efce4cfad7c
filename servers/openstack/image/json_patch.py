"""Patches of an image: add, replace and remove of its top-level keys, in both media types that clients send."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.openstack.call import Call
from controlplane.openstack.faults import ApiFault, bad_request, conflict
from servers.openstack.image.attributes import is_base, writable_check
from servers.openstack.image.schemas import IMAGE_WRITTEN, PATCH_V2_0, PATCH_V2_1

MEDIA_V2_1 = "application/openstack-images-v2.1-json-patch"
MEDIA_V2_0 = "application/openstack-images-v2.0-json-patch"


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One change of one key."""

    op: str
    key: str
    value: Any


def patch_steps(call: Call) -> list[PatchStep]:
    """What the body asks for. Raises Fault 400, 403 for a key that nobody writes, 415."""
    media_type = call.request.content_type
    if media_type == MEDIA_V2_1:
        said = [(one["op"], one["path"], one.get("value")) for one in call.body(PATCH_V2_1)]
    elif media_type == MEDIA_V2_0:
        found = call.body(PATCH_V2_0)
        said = [(op, one[op], one.get("value")) for one in found for op in ("add", "replace", "remove") if op in one]
    else:
        raise ApiFault(415, f"The media type {media_type or 'None'} is not supported, use {MEDIA_V2_1}.")
    steps = [PatchStep(op, _key(path), value) for op, path, value in said]
    for step in steps:
        writable_check(step.key)
        if step.key == "id":
            raise ApiFault(403, "Attribute 'id' is read-only.")
        if step.op != "remove" and (complaint := IMAGE_WRITTEN.complaint({step.key: step.value})):
            raise bad_request(f"JSON does not validate: {complaint}")
    return steps


def _key(path: str) -> str:
    key = path[1:]
    if not key or "/" in key:
        raise bad_request(f"Invalid JSON pointer for this resource: {path:.80} is no key of an image.")
    if "~" in key.replace("~0", "").replace("~1", ""):
        raise bad_request(f"Invalid JSON pointer for this resource: {path:.80} has a ~ without 0 or 1.")
    return key.replace("~1", "/").replace("~0", "~")


def patched(steps: Iterable[PatchStep], properties: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The base attributes that the steps set, and all properties after them.

    Raises Fault 403 for a base attribute that is removed, 409 for a property that is not there.
    """
    base: dict[str, Any] = {}
    left = dict(properties)
    for step in steps:
        if is_base(step.key):
            if step.op == "remove":
                raise ApiFault(403, f"Property {step.key} may not be removed.")
            base[step.key] = step.value
        elif step.op != "add" and step.key not in left:
            raise conflict(f"Property {step.key:.80} does not exist.")
        elif step.op == "remove":
            del left[step.key]
        else:
            left[step.key] = step.value
    return base, left
