"""What the owner of an instance may change of it later: names, description, metadata, tags, addresses, and who sizes
its root partition from the next rebuild on.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, name_reasons, problems_found, text_reasons
from servers.instances.domain.guest_config_rules import (
    access_address_reasons,
    address_spelled,
    disk_config_decided,
    fqdn_reasons,
)
from servers.instances.domain.instance_rules import metadata_reasons, tags_reasons


@dataclass(frozen=True, slots=True)
class InstanceDetails:
    """All of one moment. Tags are sorted, each once."""

    name: str
    description: str
    metadata: Mapping[str, str]
    tags: tuple[str, ...]
    access_ip_v4: str = ""
    access_ip_v6: str = ""
    hostname: str = ""
    disk_config: str = ""

    @property
    def etag(self) -> str:
        """A digest of these and of nothing else: an editor who sends it back overwrites nobody's change of them.

        What hosts report and what actions do changes the row all the time and leaves this as it is.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        text = json.dumps(values, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]

    def changed(self, changes: Mapping[str, Any]) -> "InstanceDetails":
        """The same with those fields that are given, whose values went through `details_problems`."""
        values = dict(changes)
        if "tags" in values:
            values["tags"] = tuple(sorted(set(values["tags"])))
        if "access_ip_v6" in values:
            values["access_ip_v6"] = address_spelled(values["access_ip_v6"])
        return replace(self, **values)


def details_problems(changes: Mapping[str, object]) -> Problems:
    """Everything that is wrong with the given fields, by the rules of a create."""
    rules: dict[str, Callable[[object], Reasons]] = {
        "name": name_reasons,
        "description": lambda text: text_reasons(text, maximum=255),
        "metadata": metadata_reasons,
        "tags": tags_reasons,
        "access_ip_v4": lambda address: access_address_reasons(address, 4),
        "access_ip_v6": lambda address: access_address_reasons(address, 6),
        "hostname": fqdn_reasons,
        "disk_config": lambda asked: disk_config_decided(str(asked), "")[1],
    }
    unknown = {name: [_("There is no such field.")] for name in changes if name not in rules}
    return unknown | problems_found({name: rules[name](changes[name]) for name in rules if name in changes})


def needs_metadata_guard(before: InstanceDetails, after: InstanceDetails) -> bool:
    """Whether metadata or tags differ, which Nova changes in fewer states than name and description."""
    return (dict(before.metadata), before.tags) != (dict(after.metadata), after.tags)


def _words(before: InstanceDetails, after: InstanceDetails) -> Iterable[tuple[str, str, str]]:
    names = ("access_ip_v4", "access_ip_v6", "hostname", "disk_config")
    return [(name, getattr(before, name), getattr(after, name)) for name in names]


def change_words(before: InstanceDetails, after: InstanceDetails) -> str:
    """What was changed, for the journal: names of keys and tags, not the values of metadata."""
    said = []
    if before.name != after.name:
        said.append(_("name: {before} is now {after}", before=before.name, after=after.name))
    if before.description != after.description:
        said.append("description")
    said += [f"{name}: {new or 'none'}" for name, old, new in _words(before, after) if old != new]
    keys = sorted({*before.metadata, *after.metadata})
    changed = [key for key in keys if before.metadata.get(key) != after.metadata.get(key)]
    if changed:
        said.append("metadata: " + _some(f"{_sign(key, before.metadata, after.metadata)}{key}" for key in changed))
    tags = sorted({*before.tags} ^ {*after.tags})
    if tags:
        said.append("tags: " + _some(f"{_sign(tag, before.tags, after.tags)}{tag}" for tag in tags))
    return "; ".join(said)


def _sign(one: str, before: Mapping[str, str] | Sequence[str], after: Mapping[str, str] | Sequence[str]) -> str:
    if one in before and one in after:
        return ""
    return "+" if one in after else "-"


def _some(names: Iterable[str], maximum: int = 10) -> str:
    found = list(names)
    more = f" and {len(found) - maximum} more" if len(found) > maximum else ""
    return ", ".join(found[:maximum]) + more
