"""A claim in one call of the database does what the plain way does: same outcome, same rows, whatever came before."""

from collections.abc import Callable, Sequence
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import KilonovaError
from placement.domain import UNCHECKED, ConsumerState, InventorySpec
from placement.models import Consumer, ResourceProvider
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.services import audit_inventory_usage, inventory_set, provider_ensure
from placement.services.replace import states_set, states_write

pytestmark = pytest.mark.django_db
PROVIDER, UNKNOWN = UUID(int=1), UUID(int=2)
CONSUMERS = [UUID(int=number) for number in (101, 102, 103)]
INVENTORIES = {"VCPU": InventorySpec(6, reserved=1), "MEMORY_MB": InventorySpec(9, step_size=2, max_unit=6)}

Write = Callable[[ConsumerState], None]

states = st.builds(
    ConsumerState,
    consumer_uuid=st.sampled_from(CONSUMERS),
    project_id=st.sampled_from(["p", None]),
    user_id=st.just("u"),
    consumer_type=st.sampled_from([None, "INSTANCE"]),
    resources=st.dictionaries(
        st.sampled_from([PROVIDER, PROVIDER, UNKNOWN]),
        st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "CUSTOM_NO"]), st.integers(1, 5), min_size=1),
        min_size=1,
        max_size=1,
    ),
    generation=st.sampled_from([None, UNCHECKED, 1, 2]),
    seen=st.one_of(st.just({}), st.dictionaries(st.just(PROVIDER), st.integers(1, 4), max_size=1)),
)


def fast(state: ConsumerState) -> None:
    states_set([state], must_exist=True)


def plain(state: ConsumerState) -> None:
    in_transaction(lambda: states_write([state], must_exist=True))


def outcomes(write: Write, wanted: Sequence[ConsumerState]) -> list[object]:
    """What each write ended in and what was there after it; nothing of it stays."""
    found: list[object] = []
    with transaction.atomic():
        provider_ensure(PROVIDER, "host")
        inventory_set(PROVIDER, INVENTORIES)
        for state in wanted:
            try:
                with transaction.atomic():
                    write(state)
                found.append("")
            except KilonovaError as error:
                found.append((type(error).__name__, error.code, error.message))
            rows = Consumer.objects.values_list("uuid", "generation", "consumer_type", "project_id", "user_id")
            held = {
                uuid: {(one.resource_class, one.used) for one in some}
                for uuid, some in allocations_by_consumer(CONSUMERS).items()
            }
            generation = ResourceProvider.objects.get(uuid=PROVIDER).generation
            found.append((sorted(rows), held, fleet_usage([PROVIDER])[PROVIDER], generation, audit_inventory_usage()))
        transaction.set_rollback(True)
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(wanted=st.lists(states, min_size=1, max_size=6))
def test_claim_in_one_call_ends_as_the_plain_way_does(wanted: list[ConsumerState]) -> None:
    assert outcomes(fast, wanted) == outcomes(plain, wanted)
