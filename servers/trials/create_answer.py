"""What a create would come to, while somebody still types: one run of the scheduler, within the project's budget."""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.answer_budget import answer_budget
from controlplane.kernel.errors import QuotaExceeded, Throttled
from controlplane.work.conf import work_options
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.whatif.services.fitting import flavors_fitting_nowhere
from servers.catalog.selectors.flavor import flavor_for_instance, flavor_snapshots
from servers.catalog.services.quota import quota_count_allowed
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.models import Flavor
from servers.trials.schedule_trial import TrialWanted, trial_simulate

SELECTED = "selected"
CACHED_S = 20.0
"""For so long a project is told the same flavors that fit nowhere."""
LOOK_S = 0.3
"""At most so long they are looked for."""


@dataclass(frozen=True, slots=True)
class CreateAnswer:
    """`hosts`: how many would take the first instance. `best`: the host that the first one would get; only admins are
    told. `zones`: how many instances in each. `quota`: what a create would be refused for; empty where nothing.
    """

    fits: bool
    hosts: int
    host_count: int
    best: str
    zones: Mapping[str, int]
    verdict: str
    quota: str
    duration_us: int


def trial_wanted(wanted: InstanceCreate) -> TrialWanted:
    """The dry run of a create."""
    return TrialWanted(
        flavor=wanted.flavor,
        image=wanted.image,
        count=wanted.min_count,
        availability_zone=wanted.availability_zone,
        hints=wanted.hints,
        networks=wanted.networks,
        block_device_mapping_v2=wanted.block_device_mapping_v2,
        host=wanted.host,
        hypervisor_hostname=wanted.hypervisor_hostname,
        security_groups=wanted.security_groups,
    )


def create_answer(*, caller: Caller, wanted: InstanceCreate) -> CreateAnswer:
    """One decision, of which nothing is kept, and no search for what would help. Its time counts in the project's
    budget of answers, and one is worked out at a time: raises Throttled. Raises InvalidFields and Forbidden as a create
    would, but for its name.
    """
    require(caller, "schedule:simulate")
    with _budget(f"answer:{caller.project_id}"):
        run = trial_simulate(caller=caller, wanted=trial_wanted(wanted))
    fits = run["outcome"] == SELECTED
    return CreateAnswer(
        fits=fits,
        hosts=_hosts(run) if fits else 0,
        host_count=run["host_count"],
        best=_best(run),
        zones=run["zones"],
        verdict=run["verdict"],
        quota=_quota(caller, wanted),
        duration_us=run["duration_us"],
    )


def _budget(key: str) -> Any:
    return answer_budget.spend(key, seconds_a_minute=work_options().answer_seconds_a_minute)


def _hosts(run: Mapping[str, Any]) -> int:
    funnel: Sequence[Mapping[str, Any]] = run["funnel"]
    return int(funnel[-1]["hosts_out"]) if funnel else 0


def _best(run: Mapping[str, Any]) -> str:
    """The host with the most of the batch, the first of them where several have as many."""
    counts = Counter(one["selected"]["host"] for one in run.get("selections", ()))
    return counts.most_common(1)[0][0] if counts else ""


def _quota(caller: Caller, wanted: InstanceCreate) -> str:
    flavor = flavor_for_instance(caller=caller, reference=wanted.flavor)
    try:
        quota_count_allowed(
            project_id=caller.project_id,
            user_id=caller.user_id,
            min_count=wanted.min_count,
            max_count=wanted.count_max,
            vcpus=flavor.vcpus,
            memory_mib=flavor.memory_mib,
        )
    except QuotaExceeded as error:
        return error.message
    return ""


class _RoomCache:
    """What projects were told, for CACHED_S seconds; of one process, its threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[UUID, frozenset[str]], tuple[float, frozenset[str]]] = {}

    def get(self, key: tuple[UUID, frozenset[str]]) -> frozenset[str] | None:
        """None where nothing is kept any more."""
        with self._lock:
            now = time.monotonic()
            self._found = {one: cached for one, cached in self._found.items() if cached[0] > now}
            cached = self._found.get(key)
            return cached[1] if cached else None

    def put(self, key: tuple[UUID, frozenset[str]], found: frozenset[str]) -> None:
        """Keep it from now on."""
        with self._lock:
            self._found[key] = (time.monotonic() + CACHED_S, found)


_room_cache = _RoomCache()


def flavors_without_room(*, caller: Caller, flavors: Sequence[Flavor]) -> frozenset[str]:
    """Ids of those of these flavors that fit on no host now, for the caller's project. Nothing is said where the
    project has used up its budget of answers. A constant number of queries.
    """
    require(caller, "schedule:simulate")
    key = (caller.project_id, frozenset(f"{one.pk} {one.updated_at}" for one in flavors))
    if (cached := _room_cache.get(key)) is not None:
        return cached
    snapshots = [FlavorSnapshot(**found) for found in flavor_snapshots(flavors)]
    try:
        with _budget(f"rooms:{caller.project_id}"):
            found = flavors_fitting_nowhere(
                flavors=snapshots,
                fleet_facts=fleet_facts(None, scheduling_inputs()),
                project_id=str(caller.project_id),
                seconds=LOOK_S,
            )
    except Throttled:
        return frozenset()
    _room_cache.put(key, found)
    return found
