"""Disks that an image names besides, or instead of, its own bytes: `block_device_mapping` of its properties, as Nova
writes it into the image of an instance that boots from a volume. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names

IMAGE_DISKS, NEWER_FORM, ROOT_DEVICE = "img_block_device_mapping", "img_bdm_v2", "img_root_device_name"
WRITTEN_DISKS, WRITTEN_FORM, WRITTEN_ROOT = "block_device_mapping", "bdm_v2", "root_device_name"
"""The names under which Nova writes them, and under which images of snapshots have them here too."""
OLDER_FORM = _("The image names its disks in the form before bdm_v2, which is not understood here.")
_ID_OF = {"image": "image_id", "snapshot": "snapshot_id", "volume": "volume_id"}


def image_disks(properties: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """Those disks, each as a request's `block_device_mapping_v2` has it, and what is wrong with them all."""
    known = present_names(properties)
    text = str(known.get(IMAGE_DISKS) or "")
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return (), _("The image's {written_disks} is no JSON.", written_disks=WRITTEN_DISKS)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return (), _("The image's {written_disks} is no list of objects.", written_disks=WRITTEN_DISKS)
    if found and not is_true(str(known.get(NEWER_FORM) or "")):
        return (), OLDER_FORM
    return tuple(_as_requested(one) for one in found), ""


def has_root_of_its_own(properties: Mapping[str, Any]) -> bool:
    """Whether what is booted from is one of those disks, so that the image itself is no disk."""
    return any(one.get("boot_index") in (0, "0") for one in image_disks(properties)[0])


def disks_text(disks: Sequence[Mapping[str, Any]]) -> str:
    """The property's value: each with the id under Nova's name, and without what says nothing."""
    return json.dumps([_as_written(one) for one in disks])


def disks_merged(of_image: Sequence[Mapping[str, Any]], asked: Sequence[Any]) -> list[Any]:
    """The image's disks and then the request's, as Nova merges them: of one device name the request's counts, also
    where it says that there is to be none, and a root disk of the image's takes the place of the image itself.
    """
    has_root = any(one.get("boot_index") in (0, "0") for one in of_image)
    mine = [one for one in asked if not (has_root and _is_image_root(one))]
    named, there = {_device(one) for one in mine} - {""}, {_device(one) for one in of_image}
    # What takes away a disk that there is not is refused by whoever reads the request.
    left = [one for one in mine if not (_takes_away(one) and _device(one) in there)]
    return [*(one for one in of_image if _device(one) not in named), *left]


def _as_requested(one: Mapping[str, Any]) -> Mapping[str, Any]:
    said = {key: value for key, value in one.items() if value is not None and key not in _ID_OF.values()}
    reference = one.get(_ID_OF.get(str(one.get("source_type", "")), ""))
    return said if reference is None else {**said, "uuid": reference}


def _as_written(one: Mapping[str, Any]) -> Mapping[str, Any]:
    said = {key: value for key, value in one.items() if value not in (None, "") and key != "uuid"}
    key = _ID_OF.get(str(one.get("source_type", "")))
    return {**said, key: one["uuid"]} if key and one.get("uuid") else said


def _is_image_root(one: Any) -> bool:
    return isinstance(one, Mapping) and one.get("source_type") == "image" and one.get("boot_index") in (0, "0")


def _takes_away(one: Any) -> bool:
    return isinstance(one, Mapping) and one.get("no_device") is True


def _device(one: Any) -> str:
    name = one.get("device_name") if isinstance(one, Mapping) else None
    return name.removeprefix("/dev/") if isinstance(name, str) else ""
