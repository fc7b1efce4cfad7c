"""Count limits: how many consumers with a key a provider may have, guarded inside the claim."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import Invalid, NoCapacity
from placement.domain import Claim, ConsumerState, CountLimit
from placement.models import CountedConsumer, CountedKey
from placement.selectors import allocations_by_consumer, provider_get
from placement.services import allocations_claim, allocations_free, allocations_move, allocations_replace
from placement.services.counts import keys_prune

pytestmark = pytest.mark.django_db

KEY = "group:7b0e"
MakeMember = Callable[..., Claim]


@pytest.fixture
def member(claim) -> MakeMember:
    """A claim of one more member of the group."""

    def make(provider_uuid: UUID, maximum: int = 1, key: str = KEY, **changes: object) -> Claim:
        one = claim(provider_uuid, VCPU=1, **changes)
        return replace(one, limits=(CountLimit(provider_uuid, key, maximum),))

    return make


def test_member_beyond_the_limit_is_refused_with_the_numbers(provider, member):
    host = provider(VCPU=9)
    allocations_claim([member(host, 2), member(host, 2)])

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([member(host, 2)])

    extra = refused.value.extra
    (shortage,) = extra["shortages"]
    assert (extra["provider_uuid"], extra["rule"]) == (host, "count_limit")
    assert (shortage["key"], shortage["limit"], shortage["present"], shortage["wanted"]) == (KEY, 2, 2, 1)
    assert (shortage["provider_uuid"], shortage["free"]) == (str(host), 0)


def test_refused_member_leaves_no_trace(provider, member):
    host, other = provider(VCPU=9), provider(VCPU=9)
    allocations_claim([member(host)])
    before = [provider_get(uuid).generation for uuid in (host, other)]

    with pytest.raises(NoCapacity):
        allocations_claim([member(other), member(host)])

    assert (len(allocations_by_consumer()), CountedConsumer.objects.count()) == (1, 1)
    assert [provider_get(uuid).generation for uuid in (host, other)] == before


def test_members_of_one_batch_count_together(provider, member):
    host = provider(VCPU=9)

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([member(host, 2) for _ in range(3)])

    assert refused.value.extra["shortages"][0]["wanted"] == 3


def test_members_elsewhere_and_of_other_groups_do_not_count(provider, member, claim):
    host, other = provider(VCPU=9), provider(VCPU=9)

    allocations_claim([member(host), member(other), member(host, key="group:other"), claim(host, VCPU=1)])

    assert CountedConsumer.objects.count() == 3


def test_freed_member_makes_room_for_another(provider, member):
    host = provider(VCPU=9)
    one = member(host)
    allocations_claim([one])
    allocations_free([one.consumer_uuid])

    allocations_claim([member(host)])

    assert CountedConsumer.objects.count() == 1


def test_moved_allocations_keep_counting_until_they_are_freed(provider, member):
    host, target = provider(VCPU=9), provider(VCPU=9)
    one, migration = member(host), uuid4()
    allocations_claim([one])
    allocations_move(one.consumer_uuid, migration)
    allocations_claim([member(target, consumer=one.consumer_uuid)])

    with pytest.raises(NoCapacity):
        allocations_claim([member(host)])
    allocations_free([migration])
    allocations_claim([member(host)])


def test_replaced_member_counts_where_it_stays_and_no_longer_where_it_left(provider, member):
    host, target = provider(VCPU=9), provider(VCPU=9)
    one = member(host)
    allocations_claim([one])

    allocations_replace([ConsumerState(one.consumer_uuid, "p", "u", None, {host: {"VCPU": 2}}, 1)])
    with pytest.raises(NoCapacity):
        allocations_claim([member(host)])

    allocations_replace([ConsumerState(one.consumer_uuid, "p", "u", None, {target: {"VCPU": 2}}, 2)])
    allocations_claim([member(host)])


def test_state_that_states_its_limit_again_counts_once(provider, member):
    host = provider(VCPU=9)
    one = member(host)
    allocations_claim([one])

    allocations_replace([ConsumerState(one.consumer_uuid, "p", "u", None, {host: {"VCPU": 2}}, 1, one.limits)])

    assert CountedConsumer.objects.count() == 1


def test_limit_where_nothing_is_asked_for_is_invalid(provider, member):
    one = replace(member(provider(VCPU=9)), limits=(CountLimit(uuid4(), KEY, 1),))

    with pytest.raises(Invalid):
        allocations_claim([one])


@pytest.fixture
def fellow(claim) -> MakeMember:
    """A claim of one more consumer of those that must be together."""

    def make(provider_uuid: UUID, key: str = KEY, **changes: object) -> Claim:
        one = claim(provider_uuid, VCPU=1, **changes)
        return replace(one, limits=(CountLimit(provider_uuid, key, 9, together=True),))

    return make


def test_consumers_that_must_be_together_are_refused_elsewhere_with_the_place(provider, fellow):
    host, other = provider(VCPU=9), provider(VCPU=9)
    allocations_claim([fellow(host)])

    with pytest.raises(NoCapacity, match=f"is on provider {host}") as refused:
        allocations_claim([fellow(other)])
    allocations_claim([fellow(host), fellow(other, key="group:other")])

    (shortage,) = refused.value.extra["shortages"]
    assert (shortage["rule"], shortage["provider_uuid"], shortage["home"]) == ("together", str(other), str(host))
    assert (shortage["key"], shortage["wanted"], shortage["free"]) == (KEY, 1, 0)


def test_batch_that_must_be_together_and_is_not_gets_nothing(provider, fellow):
    host, other = provider(VCPU=9), provider(VCPU=9)

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([fellow(host), fellow(other), fellow(host)])

    assert [one["home"] for one in refused.value.extra["shortages"]] == [str(host)]
    assert allocations_by_consumer() == {}


def test_last_of_those_that_are_together_leaves_and_the_next_goes_anywhere(provider, fellow):
    host, other = provider(VCPU=9), provider(VCPU=9)
    first, second = fellow(host), fellow(host)
    allocations_claim([first, second])
    allocations_free([first.consumer_uuid])
    with pytest.raises(NoCapacity):
        allocations_claim([fellow(other)])

    allocations_free([second.consumer_uuid])
    allocations_claim([fellow(other)])


def test_consumer_alone_may_move_from_where_it_is(provider, fellow):
    host, other = provider(VCPU=9), provider(VCPU=9)
    one = fellow(host)
    allocations_claim([one])
    there = fellow(other, consumer=one.consumer_uuid)

    allocations_replace([ConsumerState(one.consumer_uuid, "p", "u", None, {other: {"VCPU": 1}}, 1, there.limits)])

    with pytest.raises(NoCapacity):
        allocations_claim([fellow(host)])


def test_keys_go_when_nobody_counts_under_them(provider, fellow):
    host = provider(VCPU=9)
    one, two = fellow(host), fellow(host, key="group:other")
    allocations_claim([one, two])
    allocations_free([one.consumer_uuid])

    assert (keys_prune(), keys_prune()) == (1, 0)
    assert list(CountedKey.objects.values_list("key", flat=True)) == ["group:other"]
