"""Aliases: names an operator gives to kinds of PCI devices, for flavors to ask for. Source: Nova's `[pci]alias`."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from computeagent.protocol.pci import DeviceType
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.flavor_keys import parse_choice, parse_flag
from scheduling.topology.domain.pci.asked import Spec
from scheduling.topology.domain.pci.pool import NumaPolicy

FIELD = "pci_alias"
KEYS = frozenset(
    (
        "name",
        "capability_type",
        "product_id",
        "vendor_id",
        "device_type",
        "numa_policy",
        "resource_class",
        "traits",
        "live_migratable",
    )
)
# Seen by Placement only: pools are not compared by these.
PLACEMENT_KEYS = ("resource_class", "traits")

ALIAS_NAME = r"[^,:\s](?:[^,:\x00-\x1f\x7f]{0,254}[^,:\s])?"
"""What an alias may be called: one rule for who gives the name and for flavors, which ask by name:count,name:count."""
_NAME = re.compile(ALIAS_NAME)
_ID = re.compile(r"^[0-9a-fA-F]{4}$")
# vDPA devices are for ports only.
_TYPES = (DeviceType.STANDARD, DeviceType.PF, DeviceType.VF)


@dataclass(frozen=True, slots=True)
class Alias:
    """One name: any device that matches any of `specs` will do."""

    name: str
    numa_policy: NumaPolicy
    specs: tuple[Spec, ...]


def parse_aliases(entries: Iterable[Mapping[str, Any]], *, pci_in_placement: bool = False) -> dict[str, Alias]:
    """Aliases by name. Entries of one name are alternatives; they must agree in device type and NUMA policy.

    With devices in Placement a name has one entry only, known by ids or by a resource class; without, ids are
    needed. Raises Invalid, naming the alias.
    """
    found: dict[str, Alias] = {}
    for entry in entries:
        alias = _alias(entry)
        found[alias.name] = _joined(found[alias.name], alias) if alias.name in found else alias
    for alias in found.values():
        _check_ids(alias, pci_in_placement=pci_in_placement)
    return found


def aliases_of_text(text: str) -> dict[str, Alias]:
    """Aliases by name, of JSON text: a list of objects with Nova's keys, or one such object; '' is none.

    Raises Invalid, saying what is wrong with it.
    """
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Invalid(_("is no JSON: {error}", error=error), field=FIELD) from error
    entries = [found] if isinstance(found, Mapping) else found
    if not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
        raise Invalid(_("is a list of objects, each with name, vendor_id and product_id"), field=FIELD)
    return parse_aliases(entries)


def _alias(entry: Mapping[str, Any]) -> Alias:
    name = _text(entry, "name")
    if not _NAME.fullmatch(name):
        raise Invalid(
            _("a PCI alias needs a name of 1 to 256 characters without comma and colon: {entry!r}", entry=dict(entry)),
            field=FIELD,
        )
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise _bad(name, _("{unknown} is no property of an alias", unknown=unknown[0]))
    if entry.get("capability_type", "pci") != "pci":
        raise _bad(name, _("capability_type can be pci only"))
    policy = _choice(entry, "numa_policy", NumaPolicy, name) or NumaPolicy.LEGACY
    return Alias(name, policy, (tuple(sorted(_spec(entry, name).items())),))


def _spec(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    spec = {key: _text(entry, key) for key in PLACEMENT_KEYS if _text(entry, key)}
    for key in ("vendor_id", "product_id"):
        if key in entry:
            if not _ID.match(_text(entry, key)):
                raise _bad(name, _("{key} {entry!r} is not of four hexadecimal digits", key=key, entry=entry[key]))
            spec[key] = _text(entry, key).lower()
    kind = _choice(entry, "device_type", DeviceType, name)
    if kind is not None:
        if kind not in _TYPES:
            raise _bad(name, _("device_type {kind} is not for aliases", kind=kind))
        spec["dev_type"] = kind
    if _text(entry, "live_migratable"):
        spec["live_migratable"] = "true" if parse_flag(_text(entry, "live_migratable")) else "false"
    return spec


def _joined(one: Alias, other: Alias) -> Alias:
    if one.numa_policy is not other.numa_policy:
        raise _bad(
            one.name,
            _(
                "its entries differ in numa_policy: {numa_policy}, {other_numa_policy}",
                numa_policy=one.numa_policy,
                other_numa_policy=other.numa_policy,
            ),
        )
    types = {dict(alias.specs[0]).get("dev_type", "any") for alias in (one, other)}
    if len(types) > 1:
        raise _bad(one.name, _("its entries differ in device_type: {types}", types=", ".join(sorted(types))))
    return Alias(one.name, one.numa_policy, (*one.specs, *other.specs))


def _check_ids(alias: Alias, *, pci_in_placement: bool) -> None:
    if pci_in_placement and len(alias.specs) > 1:
        raise _bad(alias.name, _("has {count} entries; one only, with devices in Placement", count=len(alias.specs)))
    for spec in map(dict, alias.specs):
        has_ids = {"vendor_id", "product_id"} <= set(spec)
        if not has_ids and not (pci_in_placement and "resource_class" in spec):
            raise _bad(alias.name, _("vendor_id and product_id are needed"))


def _choice(entry: Mapping[str, Any], key: str, kind: type[StrEnum], name: str) -> Any:
    try:
        return parse_choice(_text(entry, key), kind, key)
    except Invalid as error:
        raise _bad(name, error.message) from error


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return "" if value is None else str(value).strip()


def _bad(name: str, why: str) -> Invalid:
    return Invalid(_("PCI alias {name}: {why}", name=name, why=why), field=FIELD, alias=name)
