"""The pools that an operator gives to a host, as he writes them: `NAME=KIND:PLACE?OPTION=VALUE&...`, by commas.

local=file:/var/lib/kilonova/volumes    files of this host
nfs=shared-file:/mnt/nfs                files that several hosts have
fast=file:/srv/nvme?size_gib=500        no more than so much of its file system
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from controlplane.kernel.errors import Invalid

FIELD = "volume_pools"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHAPE = re.compile(r"(?P<name>[^=]*)=(?P<kind>[a-z-]+):(?P<place>[^?]*)(?:\?(?P<options>.*))?")


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """One pool. What `place` and `options` may be is its kind's business."""

    name: str
    kind: str
    place: str
    options: Mapping[str, str] = field(default_factory=dict)

    def whole_number(self, option: str, default: int = 0) -> int:
        """Raises Invalid for one that is none."""
        text = self.options.get(option, str(default))
        if not (text.isascii() and text.isdecimal()):
            raise self.wrong(f"{option} must be a whole number, and is {text[:40]!r}")
        return int(text)

    def only(self, *options: str) -> None:
        """Raises Invalid where other options are named: nothing is passed over."""
        if unknown := sorted(set(self.options) - set(options)):
            known = f"it has {', '.join(options)}" if options else "it has none"
            raise self.wrong(f"{self.kind} has no option {unknown[0][:40]!r}; {known}")

    def wrong(self, what: str) -> Invalid:
        """The error that names this pool."""
        return Invalid(f"Pool {self.name}: {what}.", field=FIELD)


def pool_specs(texts: Sequence[str]) -> tuple[PoolSpec, ...]:
    """Each text may hold several. Raises Invalid for one that cannot be understood, and for a name that comes twice."""
    specs = tuple(_spec(each.strip()) for text in texts for each in text.split(",") if each.strip())
    names = [spec.name for spec in specs]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Invalid(f"Pool {twice} is there twice.", field=FIELD)
    return specs


def _spec(text: str) -> PoolSpec:
    match = _SHAPE.fullmatch(text)
    if match is None or not match["place"]:
        raise Invalid(f"A pool is written as NAME=KIND:PLACE, and not {text[:80]!r}.", field=FIELD)
    if not _NAME.fullmatch(match["name"]):
        raise Invalid(
            f"The name of a pool has letters, digits and . _ -, at most 64, and {match['name'][:80]!r} is none.",
            field=FIELD,
        )
    try:
        named = match["options"] or ""
        options = dict(parse_qsl(named, keep_blank_values=True, strict_parsing=bool(named)))
    except ValueError as error:
        raise Invalid(
            f"Pool {match['name']}: its options are written as name=value&name=value.", field=FIELD
        ) from error
    return PoolSpec(match["name"], match["kind"], match["place"], options)
