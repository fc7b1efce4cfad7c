"""What is out of bounds in a message is refused with its field named; what is only long is cut by its sender."""

from typing import Any

import pytest

from computeagent.protocol.bounds import (
    ADDRESSES_MAX,
    GUESTS_MAX,
    LARGEST,
    NETWORKS_MAX,
    PROBLEMS_MAX,
)
from computeagent.protocol.guests import GuestCounters, GuestFacts
from computeagent.protocol.networks import NetworkProblem, NetworksApplied
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure, FailureClass, StepEnd
from computeagent.protocol.wire import MAX_PROBLEM, encode, verbs
from controlplane.kernel.errors import Invalid
from tests.fixtures.agent_messages import ALL_VERBS, UUID, beyond, leaves, request_with, smallest

LEASE = {"work_id": UUID, "attempt": 1, "owner": "h1:1", "lease_s": 30.0}


@pytest.mark.parametrize("verb", sorted(ALL_VERBS))
def test_smallest_request_is_taken(verb: str) -> None:
    assert ALL_VERBS[verb].arguments_of(encode(smallest(verb)))


@pytest.mark.parametrize("verb", sorted(ALL_VERBS))
def test_each_value_out_of_bounds_is_refused_with_its_field(verb: str) -> None:
    for leaf in leaves(verb):
        for value in beyond(leaf.type):
            with pytest.raises(Invalid) as refused:
                ALL_VERBS[verb].arguments_of(encode(request_with(verb, leaf.path, value)))
            named = str(refused.value.field).replace("[0]", "[...]")
            assert named == leaf.field.replace("[0]", "[...]"), (leaf, str(value)[:80])


def told(verb: str, **arguments: Any) -> dict[str, Any]:
    """As it arrives once its sender shortened it."""
    return verbs()[verb].arguments_of(verbs()[verb].body_of(verbs()[verb].fitted(arguments)))


def test_words_of_an_error_are_cut_by_who_sends_them() -> None:
    failure = BuildFailure(FailureClass.HOST, "spawning", "m" * 100_000, "d" * 100_000)
    ended = [StepEnd("spawning", 1.0, 0.5, "e" * 100_000), StepEnd("networking", 1.0, 0.5)]
    arrived = told("build_failed", lease=LEASE, failure=failure, ended=ended)
    assert (len(arrived["failure"].message), len(arrived["failure"].details)) == (4000, 20_000)
    assert arrived["failure"].message.endswith("m\u2026")
    assert [len(step.error) for step in arrived["ended"]] == [4000, 0]


def test_the_end_of_a_console_log_is_kept() -> None:
    arrived = told("console_outputs", host="h1", outputs={UUID: "a" * 65_536 + "the end"})
    assert arrived["outputs"][UUID].endswith("the end")
    assert len(arrived["outputs"][UUID]) == 65_536


def test_guest_with_addresses_without_end_hides_no_other() -> None:
    many = {f"net-{net}": tuple(f"10.0.{net}.{host}" for host in range(100)) for net in range(100)}
    plain = GuestFacts(PowerState.RUNNING, {"default": ("192.0.2.1",)})
    other = UUID.replace("1", "2")
    arrived = told("power_states", host="h1", facts={UUID: GuestFacts(PowerState.RUNNING, many), other: plain})["facts"]
    assert {len(each) for each in arrived[UUID].addresses.values()} == {ADDRESSES_MAX}
    assert len(arrived[UUID].addresses) == NETWORKS_MAX
    assert arrived[other] == plain


def test_counter_out_of_all_measure_hides_no_other() -> None:
    arrived = told("guest_counters", host="h1", counters={UUID: GuestCounters(cpu_ns=7, rx_errors=2**64 - 1)})
    assert arrived["counters"][UUID] == GuestCounters(cpu_ns=7, rx_errors=LARGEST)


def test_names_of_guests_and_problems_of_networks_are_cut_to_the_same_ones_each_time() -> None:
    guests = frozenset(f"00000000-0000-4000-8000-{at:012}" for at in range(GUESTS_MAX + 5))
    arrived = told("host_own", host="h1", agent_id=UUID, guests=guests)
    assert list(arrived["guests"]) == sorted(guests)[:GUESTS_MAX]
    problems = tuple(NetworkProblem("port", UUID, f"no {at}") for at in range(PROBLEMS_MAX + 1))
    applied = told("networks_applied", host="h1", applied=NetworksApplied(7, problems=problems))["applied"]
    assert applied.problems == problems[:PROBLEMS_MAX]


def test_what_fits_is_sent_as_it_is() -> None:
    facts = {UUID: GuestFacts(PowerState.RUNNING, {"default": ("192.0.2.1",)})}
    fitted = verbs()["power_states"].fitted({"host": "h1", "facts": facts})
    assert fitted["facts"] is facts


def test_refusal_is_short_however_long_the_word() -> None:
    body = encode({"host": "h1", "facts": {UUID: {"power_state": "x" * 100_000}}})
    with pytest.raises(Invalid) as refused:
        verbs()["power_states"].arguments_of(body)
    assert len(refused.value.message) < 2 * MAX_PROBLEM
