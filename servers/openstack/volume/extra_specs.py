"""What a volume type says, as extra specs: those of Cinder that our types have, both ways. Others are refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.openstack.faults import bad_request, not_found
from servers.models import VolumeType

IS, OR = "<is>", "<or>"


@dataclass(frozen=True, slots=True)
class VolumeExtraSpec:
    """One key: the field of a type that it writes, in text and back, and whether all users are shown it."""

    field: str
    text: Callable[[Any], str]
    value: Callable[[str], Any]
    empty: Any
    is_for_all: bool = False


def _flag(text: str) -> bool:
    """`<is> True`, as the schedulers of OpenStack write a truth value."""
    operator, _, word = text.strip().partition(" ")
    if operator != IS or not is_boolean(word):
        raise ValueError(f"write {IS} True or {IS} False")
    return is_true(word)


def _choices(text: str) -> list[str]:
    """One name, or several after `<or>` each."""
    found = [part.strip() for part in text.split(OR)] if OR in text else [text.strip()]
    names = [name for name in found if name]
    if not names:
        raise ValueError("name one, or several after <or> each")
    return names


def _choices_text(names: list[str]) -> str:
    return names[0] if len(names) == 1 else " ".join(f"{OR} {name}" for name in names)


def _gib(text: str) -> int:
    if not (text.strip().isdecimal() and text.isascii()) or len(text) > 9:
        raise ValueError("write a whole number of GiB")
    return int(text)


EXTRA_SPECS: Mapping[str, VolumeExtraSpec] = {
    "multiattach": VolumeExtraSpec("is_multiattach", lambda flag: f"{IS} {flag}", _flag, False, is_for_all=True),
    "volume_backend_name": VolumeExtraSpec("pools", _choices_text, _choices, []),
    "storage_protocol": VolumeExtraSpec("kinds", _choices_text, _choices, []),
    "provisioning:min_vol_size": VolumeExtraSpec("min_gib", str, _gib, 0),
    "provisioning:max_vol_size": VolumeExtraSpec("max_gib", str, _gib, 0),
}


def specs_shown(row: VolumeType, *, sees_all: bool) -> dict[str, str]:
    """Those that are set; where volumes may be is for administrators."""
    return {
        key: spec.text(getattr(row, spec.field))
        for key, spec in EXTRA_SPECS.items()
        if (sees_all or spec.is_for_all) and getattr(row, spec.field) not in (spec.empty, None)
    }


def spec_fields(specs: Mapping[str, str | None]) -> dict[str, Any]:
    """The fields of a type that these specs write; null writes what a type has without the key. Raises Fault 400."""
    fields = {}
    for key, text in specs.items():
        spec = EXTRA_SPECS.get(key)
        if spec is None:
            raise bad_request(f"Extra spec {key!r:.80} means nothing here; these do: {', '.join(EXTRA_SPECS)}.")
        try:
            fields[spec.field] = spec.empty if text is None else spec.value(text)
        except ValueError as error:
            raise bad_request(f"Extra spec {key} is {text!r:.60}: {error}.") from error
    return fields


def spec_removed(row: VolumeType, key: str) -> dict[str, Any]:
    """The field as it is without the key. Raises Fault 404 for one that the type does not have."""
    if key not in specs_shown(row, sees_all=True):
        raise not_found(f"Volume Type {row.pk} has no extra specs with key {key:.80}.")
    return {EXTRA_SPECS[key].field: EXTRA_SPECS[key].empty}
