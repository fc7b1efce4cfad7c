"""Where what was found has its page, and the pages and forms that a search also finds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from controlplane.dashboard.menu import MENU
from controlplane.dashboard.texts import translated
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.texts import gettext_noop
from servers.search.selectors import Found, SearchResult


@dataclass(frozen=True, slots=True)
class KindPlace:
    """How a kind is called, where one of it has its page (`{key}`; `{name}` where it stands only in a list), and the
    list that shows all that a text finds.
    """

    title: str
    one: str
    all: str = ""


PLACES = {
    "instance": KindPlace(gettext_noop("Instances"), "/instances/{key}/", "/instances/?q={text}"),
    "host": KindPlace(gettext_noop("Hosts"), "/hosts/{key}/", "/hosts/?q={text}"),
    "aggregate": KindPlace(gettext_noop("Aggregates"), "/aggregates/?q={name}", "/aggregates/?q={text}"),
    "image": KindPlace(gettext_noop("Images"), "/images/{key}/", "/images/?q={text}"),
    "flavor": KindPlace(gettext_noop("Flavors"), "/flavors/{key}/", "/flavors/?q={text}"),
    "network": KindPlace(gettext_noop("Networks"), "/networks/{key}/", "/networks/?q={text}"),
    "port": KindPlace(gettext_noop("Ports"), "/ports/{key}/", "/ports/?q={text}"),
    "router": KindPlace(gettext_noop("Routers"), "/routers/{key}/", "/routers/"),
    "floating_ip": KindPlace(gettext_noop("Floating addresses"), "/floating-ips/", "/floating-ips/"),
    "security_group": KindPlace(gettext_noop("Security groups"), "/security-groups/{key}/", "/security-groups/"),
    "server_group": KindPlace(gettext_noop("Server groups"), "/server-groups/{key}/", "/server-groups/"),
    "volume": KindPlace(gettext_noop("Volumes"), "/volumes/{key}/", "/volumes/?q={text}"),
    "volume_snapshot": KindPlace(gettext_noop("Snapshots"), "/volume-snapshots/", "/volume-snapshots/"),
    "volume_backup": KindPlace(gettext_noop("Backups"), "/volume-backups/", "/volume-backups/"),
    "storage_pool": KindPlace(gettext_noop("Storage pools"), "/storage-pools/{key}/", "/storage-pools/"),
    "keypair": KindPlace(gettext_noop("Key pairs"), "/keypairs/", "/keypairs/"),
    "policy": KindPlace(gettext_noop("Policies"), "/policies/{key}/", "/policies/"),
    "project": KindPlace(gettext_noop("Projects"), "/projects/{key}/", "/projects/"),
    "user": KindPlace(gettext_noop("Users"), "/users/{key}/", "/users/"),
    "decision": KindPlace(gettext_noop("Decisions"), "/decisions/{key}/", "/decisions/?q={text}"),
    "work": KindPlace(gettext_noop("Work"), "/work/?state=&q={key}", "/work/?state=&q={text}"),
    "bulk_job": KindPlace(gettext_noop("Bulk jobs"), "/bulk-jobs/{key}/", "/bulk-jobs/"),
    "audit_log": KindPlace(gettext_noop("Audit log"), "/audit-log/?request_id={key}", "/audit-log/?request_id={text}"),
}
"""By kind of the search."""
STATES_NOTED = frozenset({"instance", "image", "volume", "work"})
"""Kinds of which a hit's note is a state; it is a name, an address or a time else."""
MAX_COMMANDS = 8


@dataclass(frozen=True, slots=True)
class Command:
    """A page or form that one can go to; `words` find it besides its title, which is English: pages translate it."""

    title: str
    path: str
    action: str
    words: str = ""


FORMS = (
    Command(gettext_noop("Create an instance"), "/instances/create/", "instances:create", "new vm server machine"),
    Command(gettext_noop("Upload or import an image"), "/images/new/", "images:write", "new create"),
    Command(gettext_noop("Create a network"), "/networks/new/", "networks:write", "new add"),
    Command(gettext_noop("Create a port"), "/ports/new/", "ports:write", "new add nic card mac"),
    Command(gettext_noop("Create a router"), "/routers/new/", "routers:write", "new add"),
    Command(
        gettext_noop("Take a floating address"), "/floating-ips/new/", "floating_ips:write", "new create ip allocate"
    ),
    Command(gettext_noop("Create a security group"), "/security-groups/new/", "security_groups:write", "new firewall"),
    Command(gettext_noop("Create a volume"), "/volumes/new/", "volumes:write", "new disk"),
    Command(gettext_noop("Add a key pair"), "/keypairs/new/", "keypairs:write", "new create ssh"),
    Command(gettext_noop("Create a server group"), "/server-groups/new/", "server_groups:write", "new affinity"),
    Command(gettext_noop("Create a flavor"), "/flavors/new/", "flavors:write", "new size"),
    Command(gettext_noop("Add a hypervisor"), "/hosts/add/", "hosts:write", "new host enrol agent"),
    Command(gettext_noop("Create a policy"), "/policies/new/", "policies:write", "new draft weigher filter"),
    Command(gettext_noop("Create a project"), "/projects/new/", "projects:write", "new tenant"),
    Command(gettext_noop("Create a user"), "/users/new/", "users:write", "new person account"),
    Command(gettext_noop("Simulate a request"), "/simulate/", "schedule:simulate", "what if dry run"),
    Command(gettext_noop("Repairs"), "/heals/", "heals:read", "heals repairs"),
    Command(gettext_noop("Saved views"), "/views/", "saved_views:read", "lists filters"),
    Command(gettext_noop("Keys"), "/keyboard/", "me:read", "keyboard shortcuts help"),
    Command(gettext_noop("API documentation"), "/api/docs/", "me:read", "rest openapi curl"),
)


def commands(caller: Caller, text: str) -> list[Command]:
    """The pages and forms open to the caller whose title, in English or in the reader's language, or words have every
    word of the text.
    """
    words = text.lower().split()
    return [one for one in _offered(caller) if _has_all(words, one)][:MAX_COMMANDS]


def _has_all(words: Iterable[str], one: Command) -> bool:
    shown = translated(one.title).lower()
    parts = f"{one.title} {one.words}".lower().split()
    # Not every language sets words apart.
    return all(any(part.startswith(word) for part in parts) or word in shown for word in words)


def _offered(caller: Caller) -> Iterator[Command]:
    for subject in MENU:
        for one in subject.pages:
            if allows(caller, one.action):
                yield Command(one.title, one.path, one.action, f"go {subject.title}")
    yield from (one for one in FORMS if allows(caller, one.action))


@dataclass(frozen=True, slots=True)
class Hit:
    """One found thing with the address that shows it. `note` is a state in the reader's language, or a name."""

    found: Found
    href: str
    note: str


@dataclass(frozen=True, slots=True)
class HitGroup:
    """What was found of one kind; `more` leads to the list of all of it, empty where this is all."""

    title: str
    hits: tuple[Hit, ...]
    more: str


def hit_groups(result: SearchResult, *, is_admin: bool) -> list[HitGroup]:
    """Kind after kind, in the order in which they were searched."""
    groups = []
    for kind, found in groupby(result.found, key=lambda one: one.kind):
        place = PLACES[kind]
        hits = tuple(Hit(one, _address(place.one, one.key, one.name), _note(one)) for one in found)
        more = place.all.format(text=quote(result.term.text, safe="")) if kind in result.cut else ""
        if more and kind == "instance" and is_admin:
            more += "&all_projects=1"
        groups.append(HitGroup(place.title, hits, more))
    return groups


def _note(found: Found) -> str:
    return translated(found.note) if found.kind in STATES_NOTED else found.note


def _address(pattern: str, key: str, name: str) -> str:
    return pattern.format(key=quote(key, safe=""), name=quote(name, safe=""))
