"""What open pages hear while an instance is made, runs, and goes: of it, its project and its host, of nothing else."""

from collections.abc import Callable, Iterator
from inspect import unwrap

import pytest

from computeagent.protocol.steps import BuildFailure, FailureClass
from controlplane.work.hints import HOSTS, INSTANCES, WORK, host_topic, instance_topic, project_topic
from controlplane.work.hints.carriers import HintListener, carrier
from controlplane.work.hints.sender import hint_sender
from scheduling.fleet.services.service_states import service_disable
from servers.agent_api import conductor_connect
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from tests.worlds.cloud import cloud, create, finish_builds, flavor, host, image, instance_of, order, people, pump

pytestmark = pytest.mark.django_db(transaction=True)
Heard = Callable[[], set[str]]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """All that was told since it was asked last."""
    hint_sender().close()  # what earlier tests told is sent
    listener: HintListener = carrier().listener()
    listener.open()

    def topics() -> set[str]:
        hint_sender().close()
        found: set[str] = set()
        while came := listener.wait(0.1):
            found |= came
        return found

    yield topics
    listener.close()


def test_life_of_an_instance(heard: Heard) -> None:
    who = people()
    flavor()
    image()
    unwrap(host)("h1")  # made by services now: rows that are remembered tell nothing
    assert heard() >= {HOSTS, host_topic("h1")}

    made = create(who.member)[0]
    project = project_topic(who.member.project_id)
    of_it = {instance_topic(made.pk), project, INSTANCES}
    assert heard() == of_it | {WORK}

    pump()
    assert heard() == of_it | {WORK, host_topic("h1")}

    taken = order("h1")
    conductor_connect().record_steps(lease=taken.lease, begins="spawn")
    assert heard() >= {instance_topic(made.pk), WORK}

    conductor_connect().build_failed(
        lease=taken.lease, failure=BuildFailure(step="spawn", message="no disk", failure_class=FailureClass.HOST)
    )
    assert heard() >= of_it | {WORK}

    instance_delete(caller=who.member, instance_id=made.pk)
    assert heard() >= of_it


def test_actions_and_hosts(heard: Heard) -> None:
    who = cloud("h1")
    made = create(who.member)[0]
    pump()
    finish_builds()
    heard()
    instance_act(caller=who.member, instance_id=made.pk, action="stop", arguments={})
    of_it = {instance_topic(made.pk), project_topic(who.member.project_id), INSTANCES}
    assert heard() == of_it | {WORK, host_topic("h1")}
    service_disable(host="h1", reason="new memory")
    assert heard() == {HOSTS, host_topic("h1")}
    assert instance_of(made.pk).host == "h1"


def test_what_is_refused_tells_nothing(heard: Heard) -> None:
    who = cloud("h1")
    made = create(who.member)[0]
    pump()
    finish_builds()
    heard()
    with pytest.raises(Exception, match="is active"):
        instance_act(caller=who.member, instance_id=made.pk, action="start", arguments={})
    assert heard() == set()
