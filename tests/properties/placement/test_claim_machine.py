"""Claims, replacements, frees, moves, reshapes and shrinks in any order, against a model that knows each outcome."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from controlplane.kernel.errors import Conflict, NoCapacity, NotFound
from placement.domain import UNCHECKED, Claim, ConsumerState, CountLimit, InventorySpec
from placement.models import Consumer, CountedConsumer, ResourceProvider
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.services import (
    allocations_claim,
    allocations_free,
    allocations_move,
    allocations_replace,
    audit_inventory_usage,
    inventory_set,
    provider_ensure,
    reshape,
)

PROVIDERS = [UUID(int=number) for number in range(1, 4)]
CONSUMERS = [UUID(int=number) for number in range(101, 107)]
CLASSES = ["VCPU", "MEMORY_MB"]
KEY = "group:g"

pytestmark = pytest.mark.django_db

Resources = Mapping[UUID, Mapping[str, int]]
Specs = Mapping[str, InventorySpec]

amounts = st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 4), min_size=1)
resources = st.dictionaries(st.sampled_from(PROVIDERS), amounts, max_size=2)
specs = st.dictionaries(
    st.sampled_from(CLASSES),
    st.builds(
        InventorySpec,
        total=st.integers(1, 10),
        reserved=st.integers(0, 1),
        max_unit=st.integers(2, 4),
        step_size=st.sampled_from([1, 1, 2]),
        allocation_ratio=st.sampled_from([0.5, 1.0, 1.5]),
    ),
)
seen = st.sampled_from(["right", "right", "right", "wrong", "unchecked"])
drafts = st.lists(
    st.tuples(st.sampled_from(CONSUMERS), resources, seen, st.sampled_from([None, None, 1, 2])),
    min_size=1,
    max_size=3,
    unique_by=lambda draft: draft[0],
)


@dataclass
class Holder:
    """What the model knows of one consumer."""

    generation: int
    resources: Resources
    counts: set[UUID] = field(default_factory=set)


@dataclass
class Model:
    """What should be in the database."""

    specs: dict[UUID, Specs]
    holders: dict[UUID, Holder]

    def used(self) -> Counter[tuple[UUID, str]]:
        sums: Counter[tuple[UUID, str]] = Counter()
        for holder in self.holders.values():
            for provider, classes in holder.resources.items():
                sums.update({(provider, name): amount for name, amount in classes.items()})
        return sums

    def counted(self) -> Counter[UUID]:
        return Counter(provider for holder in self.holders.values() for provider in holder.counts)

    def with_states(self, states: Sequence[ConsumerState]) -> "Model | None":
        """The world after a replacement; None when that must be refused."""
        after = Model(dict(self.specs), dict(self.holders))
        for state in states:
            present = self.holders.get(state.consumer_uuid)
            if state.generation is not UNCHECKED and state.generation != (present and present.generation):
                return None
            after.holders.pop(state.consumer_uuid, None)
            if any(state.resources.values()):
                counts = {limit.provider_uuid for limit in state.limits}
                counts |= {uuid for uuid in present.counts if uuid in state.resources} if present else set()
                after.holders[state.consumer_uuid] = Holder(
                    present.generation + 1 if present else 1, state.resources, counts
                )
        return after if self._allows(after, states) else None

    def _allows(self, after: "Model", states: Sequence[ConsumerState]) -> bool:
        before, then = self.used(), after.used()
        for state in states:
            for provider, classes in state.resources.items():
                for name, amount in classes.items():
                    spec = after.specs[provider].get(name)
                    if spec is None or amount < spec.min_unit or amount > spec.max_unit or amount % spec.step_size:
                        return False
                    if then[provider, name] > max(spec.capacity, before[provider, name]):
                        return False
            if any(after.counted()[limit.provider_uuid] > limit.limit for limit in state.limits):
                return False
        return True


class Ledger(RuleBasedStateMachine):
    """Each rule takes a step in the database and in the model, and both must agree."""

    @initialize()
    def begin(self) -> None:
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        stock = {name: InventorySpec(8, max_unit=4) for name in CLASSES}
        for uuid in PROVIDERS:
            provider_ensure(uuid, f"host-{uuid}")
            inventory_set(uuid, stock)
        self.model = Model(dict.fromkeys(PROVIDERS, stock), {})

    def teardown(self) -> None:
        if hasattr(self, "atomic"):
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    def states(self, wanted: Sequence[tuple[UUID, Resources, str, int | None]]) -> list[ConsumerState]:
        return [self._state(*one) for one in wanted]

    def _state(self, consumer: UUID, resources: Resources, seen: str, limit: int | None) -> ConsumerState:
        holder = self.model.holders.get(consumer)
        right = holder.generation if holder else None
        generation = {"right": right, "wrong": (right or 0) + 1, "unchecked": UNCHECKED}[seen]
        limits = tuple(CountLimit(uuid, KEY, limit) for uuid in resources) if limit else ()
        return ConsumerState(consumer, "p", "u", "INSTANCE", resources, generation, limits)  # type: ignore[arg-type]

    def take(self, step: Callable[[], object], after: Model | None) -> None:
        generations = self.generations()
        try:
            step()
        except (Conflict, NoCapacity, NotFound):
            assert after is None, "refused what the model allows"
            assert self.generations() == generations, "a refusal left a trace"
            return
        assert after is not None, "allowed what the model refuses"
        self.model = after

    def generations(self) -> dict[UUID, int]:
        return dict(ResourceProvider.objects.values_list("uuid", "generation"))

    @rule(wanted=drafts)
    def replace(self, wanted: list[tuple[UUID, Resources, str, int | None]]) -> None:
        self._replace(wanted)

    def _replace(self, wanted: Sequence[tuple[UUID, Resources, str, int | None]]) -> None:
        states = self.states(wanted)
        self.take(lambda: allocations_replace(states), self.model.with_states(states))

    @rule(wanted=drafts)
    def claim(self, wanted: list[tuple[UUID, Resources, str, int | None]]) -> None:
        claims = [
            Claim(one.consumer_uuid, "p", "u", one.resources, limits=one.limits)
            for one in self.states(wanted)
            if one.resources
        ]
        states = [ConsumerState(one.consumer_uuid, "p", "u", None, one.resources, None, one.limits) for one in claims]
        self.take(lambda: allocations_claim(claims), self.model.with_states(states))

    @rule(wanted=drafts)
    def claim_and_free_is_the_identity(self, wanted: list[tuple[UUID, Resources, str, int | None]]) -> None:
        states = [one for one in self.states(wanted) if one.consumer_uuid not in self.model.holders]
        try:
            with transaction.atomic():
                allocations_replace(states)
        except (Conflict, NoCapacity):
            return
        allocations_free([one.consumer_uuid for one in states])

    @rule(consumers=st.lists(st.sampled_from(CONSUMERS), max_size=3))
    def free(self, consumers: list[UUID]) -> None:
        after = Model(self.model.specs, {k: v for k, v in self.model.holders.items() if k not in consumers})
        self.take(lambda: allocations_free(consumers), after)

    @rule(source=st.sampled_from(CONSUMERS), heir=st.sampled_from(CONSUMERS))
    def move(self, source: UUID, heir: UUID) -> None:
        holders, after = dict(self.model.holders), None
        if source in holders and heir not in holders:
            moved = holders.pop(source)
            holders[heir] = Holder(moved.generation + 1, moved.resources, moved.counts)
            after = Model(self.model.specs, holders)
        self.take(lambda: allocations_move(source, heir), after)

    @rule(provider=st.sampled_from(PROVIDERS), stated=specs)
    def state(self, provider: UUID, stated: Specs) -> None:
        self._state_inventory(provider, stated)

    def _state_inventory(self, provider: UUID, stated: Specs) -> None:
        used = self.model.used()
        is_in_use = any(used[provider, name] for name in CLASSES if name not in stated)
        after = None if is_in_use else Model({**self.model.specs, provider: stated}, self.model.holders)
        self.take(lambda: inventory_set(provider, stated), after)

    @rule(provider=st.sampled_from(PROVIDERS), total=st.integers(1, 6))
    def shrink(self, provider: UUID, total: int) -> None:
        self._state_inventory(provider, {name: InventorySpec(total) for name in CLASSES})

    @rule(data=st.data())
    def take_less_or_the_same(self, data: st.DataObject) -> None:
        if not self.model.holders:
            return
        consumer = data.draw(st.sampled_from(sorted(self.model.holders)))
        holder = self.model.holders[consumer]
        less = {
            provider: {name: data.draw(st.integers(1, amount)) for name, amount in classes.items()}
            for provider, classes in holder.resources.items()
        }
        self._replace([(consumer, less, "right", None)])

    @rule(stated=st.dictionaries(st.sampled_from(PROVIDERS), specs, max_size=2), wanted=drafts, is_right=st.booleans())
    def reshape(
        self,
        stated: dict[UUID, Specs],
        wanted: list[tuple[UUID, Resources, str, int | None]],
        is_right: bool,
    ) -> None:
        states, generations = self.states(wanted), self.generations()
        given = {uuid: (generations[uuid] + (not is_right), one) for uuid, one in stated.items()}
        # While allocations change, what shall go is there beside what shall come.
        between = {uuid: {**self.model.specs[uuid], **stated.get(uuid, {})} for uuid in PROVIDERS}
        after = Model(between, self.model.holders).with_states(states)
        if after is not None:
            after.specs = {**self.model.specs, **stated}
            if any(name not in after.specs[provider] for (provider, name), used in after.used().items() if used):
                after = None
        self.take(lambda: reshape(given, states), after if is_right or not stated else None)

    @invariant()
    def database_agrees_with_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        assert audit_inventory_usage() == []
        usage = fleet_usage(PROVIDERS)
        assert {uuid: {name: one.spec for name, one in classes.items()} for uuid, classes in usage.items()} == {
            uuid: dict(one) for uuid, one in self.model.specs.items()
        }
        held = {
            uuid: {(row.provider_uuid, row.resource_class): row.used for row in rows}
            for uuid, rows in allocations_by_consumer().items()
        }
        assert held == {
            uuid: {(p, name): amount for p, classes in holder.resources.items() for name, amount in classes.items()}
            for uuid, holder in self.model.holders.items()
        }
        assert dict(Consumer.objects.values_list("uuid", "generation")) == {
            uuid: holder.generation for uuid, holder in self.model.holders.items()
        }
        assert Counter(CountedConsumer.objects.values_list("provider__uuid", flat=True)) == self.model.counted()


def test_database_and_model_agree_after_every_step(db):
    run_state_machine_as_test(
        Ledger,
        settings=settings(
            stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
        ),
    )
