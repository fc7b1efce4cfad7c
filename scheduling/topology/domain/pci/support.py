"""Whether a host's pools can serve PCI requests, and taking the devices. Source: Nova's order of choosing pools."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from computeagent.protocol.pci import DeviceType
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.pci.alias import PLACEMENT_KEYS
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool, Pools, TakenDevices, count_free, without

At = tuple[int, PciPool]


@dataclass(frozen=True, slots=True)
class NumaPlace:
    """Where the guest's NUMA cells are. Without `cells` (no guest topology) devices may be anywhere.

    `sockets` maps the host's cells to their CPU sockets.
    """

    cells: frozenset[int] = frozenset()
    sockets: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def cells_of_sockets(self) -> frozenset[int]:
        """All cells on the sockets of the guest's cells; none if the host does not name every socket."""
        if any(socket is None for socket in self.sockets.values()):
            return frozenset()
        mine = {self.sockets.get(cell) for cell in self.cells}
        return frozenset(cell for cell, socket in self.sockets.items() if socket in mine)


ANYWHERE = NumaPlace()


def consume(
    pools: Pools,
    requests: Sequence[PciRequest],
    place: NumaPlace = ANYWHERE,
    providers: Mapping[str, Sequence[str]] | None = None,
) -> TakenDevices | Refusal:
    """What all requests, one after the other, take of the pools; or why the first that fails does.

    `providers` maps a request's id to the resource providers Placement chose, one for each device.
    """
    given: Counter[int] = Counter()
    hidden: Counter[int] = Counter()
    for request in requests:
        left = without(pools, given + hidden)
        chosen = tuple((providers or {}).get(request.request_id, ()))
        found = _suited(left, request, place, chosen)
        if isinstance(found, Refusal):
            return found
        taken = _take(found, request.count, chosen)
        given += taken
        hidden += _dependents(left, taken)
    return TakenDevices(tuple(sorted(given.items())), tuple(sorted(hidden.items())))


def claim(pools: Pools, taken: TakenDevices) -> Pools:
    """The pools after a claim; `pool.free` is the inverse."""
    return without(pools, taken.at())


def refuse_pci(pools: Pools, requests: Sequence[PciRequest], place: NumaPlace = ANYWHERE) -> Refusal | None:
    """Why the pools cannot serve the requests; None if they can."""
    found = consume(pools, requests, place)
    return found if isinstance(found, Refusal) else None


def _suited(pools: Pools, request: PciRequest, place: NumaPlace, providers: tuple[str, ...]) -> list[At] | Refusal:
    """Pools the request may use, in the order they are used, with enough devices.

    Nearness comes last, unlike in Nova, where devices that later steps drop can make near pools look sufficient.
    """
    # Pools with fewer tags first, so that devices with special properties are left to those who ask for them.
    found = [at for at in sorted(enumerate(pools), key=lambda at: len(at[1].tags)) if at[1].count > 0]
    for rule in _RULES:
        found = [at for at in found if rule(at[1], request)]
    if providers:
        found = _of_providers(found, providers)
    free = _count(found)
    if free < request.count:
        return Refusal(RefusalReason.PCI_SHORT, wanted=request.count, available=free, detail=request.words)
    near = _near(found, request, place)
    free = _count(near)
    if free < request.count:
        policy = request.numa_policy or NumaPolicy.LEGACY
        detail = f"{request.words}, policy {policy}"
        return Refusal(RefusalReason.PCI_NUMA_FAR, wanted=request.count, available=free, detail=detail)
    return near


def _matches(pool: PciPool, request: PciRequest) -> bool:
    """Whether the pool has all that one of the request's specs says; upper and lower case are the same."""
    return any(
        all(pool.value(key) == value.lower() for key, value in spec if key not in PLACEMENT_KEYS)
        for spec in request.specs
    )


def _unrequested(dev_type: DeviceType) -> Callable[[PciPool, PciRequest], bool]:
    """Such devices only for a request that names the type."""

    def rule(pool: PciPool, request: PciRequest) -> bool:
        return pool.dev_type != dev_type or request.asks_for("dev_type", dev_type.lower())

    return rule


def _remote_managed(pool: PciPool, request: PciRequest) -> bool:
    """Remote-managed devices only for a request that says so."""
    return not pool.is_remote_managed or request.asks_for("remote_managed", "true")


_RULES: tuple[Callable[[PciPool, PciRequest], bool], ...] = (
    _matches,
    _unrequested(DeviceType.PF),
    _unrequested(DeviceType.VDPA),
    _remote_managed,
)


def _of_providers(found: list[At], providers: tuple[str, ...]) -> list[At]:
    """Pools of the providers that Placement chose, if they have what was allocated."""
    wanted = Counter(providers)
    return [at for at in found if at[1].provider in wanted and at[1].count >= wanted[at[1].provider]]


def _near(found: list[At], request: PciRequest, place: NumaPlace) -> list[At]:
    """Pools near enough for the policy. Nearer ones alone, if they have enough: no policy forbids to be better."""
    if not place.cells:
        return found
    policy = request.numa_policy or NumaPolicy.LEGACY
    same = _in(found, place.cells)
    if policy is NumaPolicy.REQUIRED or _count(same) >= request.count:
        return same
    if policy is NumaPolicy.SOCKET:
        return _in(found, place.cells_of_sockets)
    allowed = _in(found, {*place.cells, None})
    if policy is NumaPolicy.LEGACY or _count(allowed) >= request.count:
        return allowed
    return sorted(found, key=lambda at: at[1].numa_node not in {*place.cells, None})


def _in(found: list[At], cells: Collection[int | None]) -> list[At]:
    return [at for at in found if at[1].numa_node in cells]


def _count(found: list[At]) -> int:
    return count_free(pool for _, pool in found)


def _take(found: list[At], count: int, providers: tuple[str, ...]) -> Counter[int]:
    """In the order of the pools; exactly as allocated where Placement chose."""
    wanted, taken = Counter(providers), Counter[int]()
    for position, pool in found:
        amount = min(pool.count, wanted.pop(pool.provider, 0) if providers else count)
        count -= amount
        if amount:
            taken[position] = amount
    return taken


def _dependents(pools: Pools, taken: Counter[int]) -> Counter[int]:
    """A card given away whole takes its virtual functions along; a virtual function keeps its card from others."""
    hidden: Counter[int] = Counter()
    for position in taken:
        pool = pools[position]
        if not pool.address:
            continue
        for other, each in enumerate(pools):
            if each.address == pool.address and _is_card(pool) != _is_card(each):
                hidden[other] = each.count
    return hidden


def _is_card(pool: PciPool) -> bool:
    return pool.dev_type == DeviceType.PF
