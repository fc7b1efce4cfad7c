"""The catalogue of well-known images: read from TOML, judged entry by entry."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from servers.images.domain.image_rules import image_problems
from servers.images.domain.remote_sources import source_checksum_reasons

SHIPPED = Path(__file__).with_name("well_known.toml")
REQUIRED = ("name", "url", "disk_format")
OPTIONAL = ("checksum", "checksum_url", "min_disk_gib", "min_ram_mib", "properties", "hidden")
KEY_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


@dataclass(frozen=True, slots=True)
class WellKnownImage:
    """An image that can be copied: where it is, and what its record will say."""

    key: str
    name: str
    url: str
    disk_format: str
    checksum: str = ""
    checksum_url: str = ""
    min_disk_gib: int = 0
    min_ram_mib: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


def well_known_read(text: str, *, where: str) -> tuple[dict[str, WellKnownImage], set[str]]:
    """The images of one file by key, and the keys that it takes away. Raises Invalid that names file and entry."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(_("{where} is no TOML: {error}", where=where, error=error)) from error
    found: dict[str, WellKnownImage] = {}
    hidden: set[str] = set()
    for key, entry in document.items():
        if isinstance(entry, dict) and entry.get("hidden") is True:
            hidden.add(key)
        elif problem := _entry_problem(key, entry):
            raise Invalid(f"{where}: {key[:80]}: {problem}")
        else:
            found[key] = WellKnownImage(key=key, **{name: value for name, value in entry.items() if name != "hidden"})
    return found, hidden


def _entry_problem(key: str, entry: Any) -> str:
    if not isinstance(entry, dict):
        return _("must be a table.")
    missing = [name for name in REQUIRED if not entry.get(name)]
    unknown = sorted(set(entry) - set(REQUIRED) - set(OPTIONAL))
    checksum, checksum_url = entry.get("checksum", ""), entry.get("checksum_url", "")
    texts = (entry.get("url", ""), checksum, checksum_url)
    reasons = source_checksum_reasons(checksum) if checksum else []
    record = {name: entry[name] for name in entry if name in {"name", "disk_format", "properties"} or "min_" in name}
    problems = [f"{name}: {found[0]}" for name, found in image_problems(record).items()]
    checks = (
        (not key or not set(key) <= KEY_CHARS, _("a key has small letters, digits, dots and dashes.")),
        (bool(missing), _("{missing} must be there.", missing=" and ".join(missing))),
        (bool(unknown), _("there is no {unknown}.", unknown="".join(unknown[:1])[:80])),
        (not all(isinstance(text, str) for text in texts), _("addresses and checksums are texts.")),
        (bool(reasons), f"checksum: {''.join(reasons)}"),
        (bool(checksum and checksum_url), _("checksum and checksum_url say the same: drop one.")),
        (bool(problems), "".join(problems[:1])),
    )
    return next((reason for is_wrong, reason in checks if is_wrong), "")


def catalogue_merged(*files: tuple[dict[str, WellKnownImage], set[str]]) -> list[WellKnownImage]:
    """Later files replace and take away what earlier ones have. By name."""
    merged: dict[str, WellKnownImage] = {}
    for found, hidden in files:
        merged = {key: image for key, image in (merged | found).items() if key not in hidden}
    return sorted(merged.values(), key=lambda image: image.name.lower())
