"""What stands in the editor of an aggregate: its fields, and which hosts are to come and go.

The state travels with the form, so that a fleet of thousands can be paged and filtered without losing a tick, without
a script, and with nothing written before "Save".
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from django.http import QueryDict
from django.utils.translation import gettext as _

from controlplane.dashboard.catalog.extra_specs import posted_pairs
from controlplane.dashboard.pages import LONGEST_FILTER
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.domain.aggregate_keys import ZONE
from scheduling.fleet.services.aggregates import MAX_HOSTS_AT_ONCE
from scheduling.whatif.domain.aggregate_effect import AggregateDraft

MAX_NAMES = 20_000
WHICH = {
    "all": gettext_noop("All hosts"),
    "in": gettext_noop("In it, as ticked"),
    "changed": gettext_noop("Changed here"),
}
Problems = dict[str, list[str]]


@dataclass
class AggregateEditor:
    """`members` are those stored. `since`: when the aggregate was changed last, as the form was opened.

    `seen` is the digest of the draft whose effect was shown.
    """

    name: str = ""
    zone: str = ""
    pairs: list[tuple[str, str]] = field(default_factory=list)
    members: frozenset[str] = frozenset()
    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    search: str = ""
    which: str = "all"
    page: int = 1
    since: str = ""
    seen: str = ""
    problems: Problems = field(default_factory=dict)

    @classmethod
    def from_stored(cls, name: str, metadata: Mapping[str, str], members: frozenset[str], since: str) -> Self:
        """As it is stored."""
        pairs = sorted((key, value) for key, value in metadata.items() if key != ZONE)
        return cls(name=name, zone=metadata.get(ZONE, ""), pairs=pairs, members=members, since=since)

    @classmethod
    def from_post(cls, data: QueryDict, members: frozenset[str]) -> Self:
        """As it was sent: what was ticked on other pages stands in `added` and `removed`, what is on this one counts
        as it is ticked.
        """
        page = data.get("page", "1")
        editor = cls(
            name=data.get("name", "").strip(),
            zone=data.get("zone", "").strip(),
            pairs=posted_pairs(data),
            members=members,
            added=_names(data.get("added", "")) - members,
            removed=_names(data.get("removed", "")) & members,
            search=data.get("search", "").replace("\x00", "").strip()[:LONGEST_FILTER],
            which=data.get("which", "") if data.get("which") in WHICH else "all",
            page=int(page) if page.isascii() and page.isdecimal() and len(page) < 6 else 1,
            since=data.get("since", ""),
            seen=data.get("seen", ""),
        )
        ticked = set(data.getlist("host"))
        for host in _names(data.get("shown", "")):
            editor.tick([host], is_in=host in ticked)
        return editor

    def propose(self, data: QueryDict) -> bool:
        """Fill in what an address proposes: hosts to `add` and `remove`, keys with values, keys to `drop`. Whether it
        proposes anything.
        """
        before = (self.then, self.zone, sorted(self.pairs))
        self.tick(_names(" ".join(data.getlist("add")[:MAX_NAMES])), is_in=True)
        self.tick(_names(" ".join(data.getlist("remove")[:MAX_NAMES])), is_in=False)
        wanted = dict(posted_pairs(data))
        dropped = {*data.getlist("drop"), *wanted}
        self.zone = wanted.pop(ZONE, "" if ZONE in dropped else self.zone)[:LONGEST_FILTER]
        self.pairs = sorted([*(pair for pair in self.pairs if pair[0] not in dropped), *wanted.items()])
        self.which = "changed" if self.added or self.removed else self.which
        return before != (self.then, self.zone, sorted(self.pairs))

    def tick(self, hosts: Iterable[str], *, is_in: bool) -> None:
        """These hosts shall be in it, or not."""
        for host in hosts:
            (self.added if is_in else self.removed).add(host)
            (self.removed if is_in else self.added).discard(host)
        self.added -= self.members
        self.removed &= self.members

    def has(self, host: str) -> bool:
        """Whether it would be in it."""
        return host in self.added or (host in self.members and host not in self.removed)

    @property
    def then(self) -> set[str]:
        """All hosts that would be in it."""
        return (set(self.members) | self.added) - self.removed

    @property
    def within(self) -> set[str] | None:
        """The hosts that are listed; None: all."""
        if self.which == "in":
            return self.then
        return self.added | self.removed if self.which == "changed" else None

    @property
    def added_text(self) -> str:
        """For the field that takes them along."""
        return "\n".join(sorted(self.added))

    @property
    def removed_text(self) -> str:
        """The same of those that go."""
        return "\n".join(sorted(self.removed))

    def draft(self) -> AggregateDraft:
        """What it shall be. What only a form can get wrong is added to `problems`."""
        metadata: dict[str, str] = {ZONE: self.zone} if self.zone else {}
        for key, value in self.pairs:
            if key == ZONE:
                self._refuse("zone", _("The zone has a field of its own."))
            elif not key:
                self._refuse("metadata", _("The value %(value)s has no key.") % {"value": value[:80]})
            elif key in metadata:
                self._refuse("metadata", _("%(key)s is there more than once.") % {"key": key[:80]})
            metadata[key] = value
        if len(self.added) + len(self.removed) > MAX_HOSTS_AT_ONCE:
            self._refuse(
                "hosts", _("At most %(most)s hosts can be put in or taken out at once.") % {"most": MAX_HOSTS_AT_ONCE}
            )
        return AggregateDraft(self.name, metadata, tuple(sorted(self.added)), tuple(sorted(self.removed)))

    def _refuse(self, name: str, reason: str) -> None:
        self.problems.setdefault(name, []).append(reason)


def draft_digest(draft: AggregateDraft) -> str:
    """Tells whether what is to be saved is what was shown."""
    plain = [draft.name, sorted(draft.metadata.items()), draft.hosts_added, draft.hosts_removed]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def _names(text: str) -> set[str]:
    return {name[:LONGEST_FILTER] for name in text.replace("\x00", "").split()[:MAX_NAMES]}
