"""Which instances a demo has and where: values, made without the scheduler, that keep every limit of the hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from random import Random
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.launcher.demo.catalogue import FLAVORS, GPU_FLAVOR, Catalogue, FlavorOnOffer, ImageOnOffer
from controlplane.launcher.demo.guest_states import GuestState, state_of
from controlplane.launcher.demo.hosts import Condition, DemoHost
from controlplane.launcher.demo.people import Team
from controlplane.launcher.demo.plan import DemoPlan

MAX_BATCH = 12
DAYS = 90
TRIES = 12
LONGEST_WAY_S = 40


@dataclass(slots=True)
class Placed:
    """One instance. `host` is None for one that left its host (shelved). `asked_at` is when its request came."""

    id: UUID
    name: str
    team: Team
    user: Caller
    flavor: FlavorOnOffer
    image: ImageOnOffer
    host: DemoHost | None
    state: GuestState
    asked_at: datetime
    request_id: str
    reservation_id: UUID
    launch_index: int
    build_s: float

    @property
    def launched_at(self) -> datetime:
        """When it first ran."""
        return self.asked_at + timedelta(seconds=self.build_s)


class HostChooser:
    """Hosts to choose from: each zone is as full as it is in demand."""

    def __init__(self, hosts: Sequence[DemoHost], rng: Random) -> None:
        self._rng = rng
        usable = [host for host in hosts if not host.is_pinned]
        self._gpus = [host for host in usable if host.has_gpus and not host.condition.is_dead]
        self._plain = [host for host in usable if not host.has_gpus]
        zones = sorted({host.zone for host in hosts})
        demand = {zone: 1.0 + 1.2 * rng.random() for zone in zones}
        self._sums = list(accumulate(demand[host.zone] * host.hardware.memory_mib for host in self._plain))

    def one(self, flavor: FlavorOnOffer) -> DemoHost | None:
        """A host with room, at random; None where some tries find none."""
        amounts = flavor.amounts
        for turn in range(TRIES):
            fill = 0.93 if turn < TRIES - 2 else 0.99
            if flavor.name == GPU_FLAVOR:
                host = self._rng.choice(self._gpus) if self._gpus else None
            else:
                host = self._rng.choices(self._plain, cum_weights=self._sums)[0]
            if host is not None and host.condition is not Condition.FAILING and host.room_for(amounts, fill):
                return host
        return None


def instances_placed(
    plan: DemoPlan, hosts: Sequence[DemoHost], teams: Sequence[Team], offer: Catalogue
) -> list[Placed]:
    """All of them, oldest first, in batches as people ask for them. What they take is counted in the hosts."""
    rng = plan.rng("instances")
    places = HostChooser(hosts, plan.rng("places"))
    made: list[Placed] = []
    counters: dict[str, int] = {}
    while len(made) < plan.instances:
        batch = _batch(plan, rng, teams, offer, room=plan.instances - len(made), number=len(made))
        for one in batch:
            one.host = places.one(one.flavor) if one.state is not GuestState.SHELVED else None
            if one.host is None and one.state is not GuestState.SHELVED:
                one.state = GuestState.SHELVED  # the fleet is full: it is away from its host
            if one.host is not None:
                one.host.take(one.flavor.amounts)
                one.host.guests += one.state.is_on
            count = counters[one.name] = counters.get(one.name, 0) + 1
            one.name = f"{one.name}-{count}"
        made += batch
    _rare_ones(made)
    return sorted(made, key=lambda one: (one.asked_at, one.launch_index))


def _rare_ones(made: Sequence[Placed]) -> None:
    """One at least of each state, so that a small demo shows what a large one does."""
    there = {one.state for one in made}
    running = (one for one in made if one.state is GuestState.RUNNING and one.host and not one.host.condition.is_dead)
    missing = [state for state in GuestState if state not in there and state is not GuestState.SHELVED]
    for state, one in zip(missing, running, strict=False):
        one.state = state


def _batch(
    plan: DemoPlan, rng: Random, teams: Sequence[Team], offer: Catalogue, *, room: int, number: int
) -> list[Placed]:
    team = rng.choices(teams, [each.kind.weight for each in teams])[0]
    count = min(room, rng.choices((1, 2, 3, 6, MAX_BATCH), (50, 18, 14, 10, 8))[0])
    name = rng.choice(team.kind.services)
    flavor = offer.flavors[_flavor(rng, name)]
    image = offer.images[rng.choices(tuple(offer.images), (5, 6, 2, 2, 1))[0]]
    # More of them are young than old: the fleet fills up.
    asked_at = plan.now - timedelta(days=0.05 + DAYS * rng.random() ** 1.6)
    return [
        Placed(
            id=plan.uuid("instance", number + index),
            name=name,
            team=team,
            user=team.members[rng.random() < 0.3],
            flavor=flavor,
            image=image,
            host=None,
            state=state_of(rng),
            asked_at=asked_at,
            request_id=plan.request_id("create", number),
            reservation_id=plan.uuid("reservation", number),
            launch_index=index,
            build_s=2.0 + LONGEST_WAY_S * rng.random() ** 4,
        )
        for index in range(count)
    ]


def _flavor(rng: Random, service: str) -> str:
    if service in ("train", "serve"):
        return GPU_FLAVOR if rng.random() < 0.25 else "c1.large"
    names = [name for name, row in FLAVORS.items() if row[3]]
    return rng.choices(names, [FLAVORS[name][3] for name in names])[0]
