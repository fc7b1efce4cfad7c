"""No image and no flavor that a member can name raises a host's counter, whatever libvirt or QEMU say of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from computeagent.drivers.libvirt.refusals import fault_of
from computeagent.protocol.steps import BuildFailure, FailureClass, HostBlame
from computeagent.protocol.work import WorkKind
from scheduling.models import BuildFailures, ComputeNode
from servers.agent_api import conductor_connect
from servers.instances.domain.host_blame import AttemptBlame, blame_of
from servers.instances.services.host_blame import blame_round
from servers.models import Instance
from tests.worlds import cloud as world

CODES = st.one_of(st.none(), st.integers(0, 120))
SENTENCES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            "unsupported configuration: IDE controllers are unsupported for this QEMU binary or machine type",
            "XML error: No PCI buses available",
            "internal error: qemu unexpectedly closed the monitor: qemu-system-x86_64: -device igb: not a valid model",
            "internal error: process exited while connecting to monitor: qemu-system-x86_64: Bus 'ide.0' not found",
        ]
    ),
)


@given(CODES, SENTENCES, st.booleans())
def test_no_refusal_counts_before_another_host_has_built_the_same(code: int | None, sentence: str, asks: bool) -> None:
    fault = fault_of(code, sentence, asks_hardware=asks)
    failure = BuildFailure(fault.failure_class, "spawning", sentence, blame=fault.blame)
    assert blame_of(failure) in (AttemptBlame.NONE, AttemptBlame.PENDING)
    assert (fault.failure_class is FailureClass.USER) <= asks


REFUSALS = st.lists(
    st.one_of(
        st.builds(BuildFailure, st.just(FailureClass.USER), st.just("spawning"), st.just("asked")),
        st.builds(
            BuildFailure,
            st.just(FailureClass.HOST),
            st.just("spawning"),
            st.just("refused"),
            blame=st.sampled_from([HostBlame.NEVER, HostBlame.IF_BUILT_ELSEWHERE]),
        ),
        st.builds(BuildFailure, st.just(FailureClass.NETWORK), st.just("networking"), st.just("no image")),
    ),
    min_size=3,
    max_size=3,
)


@pytest.fixture
def who(transactional_db: None) -> world.People:
    return world.cloud("h1", "h2", "h3")


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(refusals=REFUSALS)
def test_request_that_no_host_builds_counts_against_none(who: world.People, refusals: list[BuildFailure]) -> None:
    made = world.create(who.member)[0]
    world.pump()
    for failure in refusals:
        instance = Instance.objects.get(pk=made.pk)
        if instance.vm_state != "building":
            break
        lease = world.order(instance.host, WorkKind.BUILD).lease
        conductor_connect().build_failed(lease=lease, failure=failure)
        world.pump()
    assert Instance.objects.get(pk=made.pk).vm_state == "error"
    blame_round()
    assert list(ComputeNode.objects.filter(failed_builds__gt=0)) == []
    assert not BuildFailures.objects.exists()
