"""Whether a host may be removed, what stands in the way, and what a forced removal leaves behind. Values only.

Nova refuses to delete a compute service that has instances or migrations under way (DELETE /os-services/{id}, 409). It
asks the operator to stop the agent first, since a running one brings its rows back; here its secret goes with the host,
so it is enough that no new instances come.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import Phrase, gettext_noop, sentences
from controlplane.kernel.texts import phrase as _

MAX_NAMED = 5


class RemovalReason(StrEnum):
    """What stands in the way of a removal."""

    TAKES_INSTANCES = "takes_instances"
    """It is up and enabled: the scheduler may choose it at this moment."""
    INSTANCES = "instances"
    WORK = "work"
    ALLOCATIONS = "allocations"
    """Somebody else than its instances holds some of it: a build that is being scheduled, a client of Placement."""
    VOLUMES = "volumes"
    """Volumes are in pools that it alone stores."""
    NOT_FORCED_DOWN = "not_forced_down"
    """Force is for a host that an admin declared dead; silence alone proves nothing."""


@dataclass(frozen=True, slots=True)
class InstanceLeft:
    """An instance that is on the host, by id and name."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class HostContents:
    """A host with all that hangs on it at one moment. `work` counts open pieces by kind; `consumers` are those that
    hold some of its providers and are no instances of it; `volumes` are in its own pools, by name or id.
    """

    host: str
    is_up: bool
    is_disabled: bool
    is_forced_down: bool
    instances: tuple[InstanceLeft, ...] = ()
    work: Mapping[str, int] = field(default_factory=dict)
    consumers: tuple[UUID, ...] = ()
    volumes: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovalObstacle:
    """One reason why a host is not removed, with its number and some names."""

    reason: RemovalReason
    message: str
    count: int = 1
    names: tuple[str, ...] = ()


class RemovalRefused(Conflict):
    """The host stays as it is; `removal_refused` makes it. Extra: host, obstacles (reason, message, count, names)."""

    code = "host_in_use"
    retryable = False

    @property
    def reasons(self) -> dict[RemovalReason, int]:
        """{what stands in the way: its number}."""
        return {RemovalReason(one["reason"]): one["count"] for one in self.extra["obstacles"]}


def removal_refused(host: str, obstacles: tuple[RemovalObstacle, ...]) -> RemovalRefused:
    """The error with all of them."""
    shown: list[dict[str, Any]] = [{**asdict(one), "names": list(one.names)} for one in obstacles]
    said = sentences(one.message for one in obstacles)
    return RemovalRefused(
        _("Host {host} is not removed. {sentences}", host=host, sentences=said), host=host, obstacles=shown
    )


def removal_obstacles(contents: HostContents, *, force: bool) -> tuple[RemovalObstacle, ...]:
    """All that stands in the way of removing the host now; empty when it may go."""
    if force and not contents.is_forced_down:
        sentence = _("It is not forced down: a forced removal is for a host that is known to be dead.")
        return (RemovalObstacle(RemovalReason.NOT_FORCED_DOWN, sentence),)
    found = []
    if not force:
        found += _used(contents)
    if count := len(contents.volumes):
        one = gettext_noop("{count} volume is stored on it alone: delete it first, by force where the host is dead.")
        more = gettext_noop(
            "{count} volumes are stored on it alone: delete them first, by force where the host is dead."
        )
        sentence = Phrase(one if count == 1 else more, count=count)
        found.append(RemovalObstacle(RemovalReason.VOLUMES, sentence, count, contents.volumes[:MAX_NAMED]))
    if contents.consumers:
        count = len(contents.consumers)
        one = gettext_noop(
            "{count} consumer of Placement holds some of it and is none of its instances: being scheduled just now, or "
            "of a client."
        )
        more = gettext_noop(
            "{count} consumers of Placement hold some of it and are none of its instances: being scheduled just now, "
            "or of a client."
        )
        found.append(
            RemovalObstacle(
                RemovalReason.ALLOCATIONS,
                Phrase(one if count == 1 else more, count=count),
                count,
                tuple(str(one) for one in contents.consumers[:MAX_NAMED]),
            )
        )
    return tuple(found)


def _used(contents: HostContents) -> list[RemovalObstacle]:
    found = []
    if contents.is_up and not contents.is_disabled:
        sentence = _("It is up and takes new instances: disable it, or stop its agent, first.")
        found.append(RemovalObstacle(RemovalReason.TAKES_INSTANCES, sentence))
    if count := len(contents.instances):
        names = tuple(one.name for one in contents.instances[:MAX_NAMED])
        more = ", ..." if count > MAX_NAMED else ""
        one, all_of_them = (
            gettext_noop("{count} instance is on it ({names})."),
            gettext_noop("{count} instances are on it ({names})."),
        )
        sentence = Phrase(one if count == 1 else all_of_them, count=count, names=", ".join(names) + more)
        found.append(RemovalObstacle(RemovalReason.INSTANCES, sentence, count, names))
    if count := sum(contents.work.values()):
        kinds = tuple(f"{kind} {number}" for kind, number in sorted(contents.work.items()))
        one = gettext_noop("{count} piece of work is under way ({kinds}).")
        several = gettext_noop("{count} pieces of work are under way ({kinds}).")
        sentence = Phrase(one if count == 1 else several, count=count, kinds=", ".join(kinds))
        found.append(RemovalObstacle(RemovalReason.WORK, sentence, count, kinds))
    return found


def left_behind(contents: HostContents) -> tuple[str, ...]:
    """What a forced removal would leave, or end, in sentences; empty for a host that nothing hangs on."""
    found = []
    if count := len(contents.instances):
        one = gettext_noop(
            "{count} instance stays in the database without a host that runs it, and its allocations go. Nothing is "
            "moved elsewhere."
        )
        more = gettext_noop(
            "{count} instances stay in the database without a host that runs them, and their allocations go. Nothing "
            "is moved elsewhere."
        )
        found.append(Phrase(one if count == 1 else more, count=count))
    if count := sum(contents.work.values()):
        one = gettext_noop("{count} piece of work ends as failed; deletions are completed.")
        more = gettext_noop("{count} pieces of work end as failed; deletions are completed.")
        found.append(Phrase(one if count == 1 else more, count=count))
    return tuple(found)
