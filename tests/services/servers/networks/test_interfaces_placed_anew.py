"""An instance that is placed anew goes where its cards of now can be, whichever it was made with."""

from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from scheduling.models import Service
from servers.instances.services.act import instance_act
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import Instance, InstanceFault, Port, RequestSpec
from servers.networks.services.port_changes import port_update
from servers.trials.next_steps import instance_next_steps
from tests.services.servers.networks.test_port_bandwidth import EGRESS, PHYSNET, fast_cloud, port
from tests.worlds import cloud as world
from tests.worlds import networks as nets
from tests.worlds.agent_hands import Hands, built, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)
FAST = tuple(network_traits([NetworkBackendKind.BRIDGE], ["fast"]))


class Cloud:
    """Host h1 has a way to the physical network `fast`; h2 carries no network at all."""

    def __init__(self, state_dir: Path) -> None:
        self.who = people_and_image()
        project = Project.objects.get(pk=self.who.member.project_id)
        self.fast = nets.network("fast", project=project, physical_network="fast", segment=None)
        self.state_dir = state_dir
        self.h1 = Hands("h1", state_dir, carries=FAST)
        self.h2: Hands | None = None

    def made(self, networks: object) -> Instance:
        found = built(self.who.member, self.h1, networks=networks)
        self.h2 = Hands("h2", self.state_dir, carries=())
        return found

    def act(self, instance: Instance, action: str, *kinds: WorkKind, **arguments: str) -> None:
        instance_act(caller=self.who.member, instance_id=instance.pk, action=action, arguments=arguments)
        for kind in kinds:
            self.h1.do(kind)

    def offloaded_and_asked_back(self, instance: Instance) -> Instance:
        """Its host of before takes nobody any more."""
        self.act(instance, "shelve", WorkKind.SHELVE, WorkKind.SHELVE_OFFLOAD)
        Service.objects.filter(host="h1").update(disabled=True)
        self.act(instance, "unshelve")
        world.pump()
        instance.refresh_from_db()
        return instance


@pytest.fixture
def cloud(tmp_path: Path, settings: Any) -> Cloud:
    more = {"IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}
    settings.KILONOVA = {**settings.KILONOVA, **more}
    return Cloud(tmp_path)


def test_network_of_a_card_that_was_added_decides_where_it_comes_back(cloud: Cloud) -> None:
    vm = cloud.made("none")
    cloud.act(vm, "attach_interface", WorkKind.ATTACH_INTERFACE, network="fast")
    back = cloud.offloaded_and_asked_back(vm)
    assert (back.vm_state, back.task_state, back.host) == ("shelved_offloaded", "", "")
    reason = InstanceFault.objects.filter(instance_uuid=vm.pk).latest("pk").message
    assert "1 lacks a trait" in reason
    Hands("h3", cloud.state_dir, carries=FAST)
    cloud.act(vm, "unshelve")
    world.pump()
    assert world.instance_of(vm.pk).host == "h3"
    assert Port.objects.get(instance_uuid=vm.pk).host == "h3"


def test_network_of_a_card_that_is_gone_decides_nothing(cloud: Cloud) -> None:
    vm = cloud.made([{"network": "fast"}])
    gone = Port.objects.get(instance_uuid=vm.pk)
    cloud.act(vm, "detach_interface", WorkKind.DETACH_INTERFACE, port=str(gone.pk))
    assert cloud.offloaded_and_asked_back(vm).host == "h2"


def test_network_of_a_card_that_stays_goes_on_to_decide(cloud: Cloud) -> None:
    vm = cloud.made([{"network": "fast"}])
    assert cloud.offloaded_and_asked_back(vm).host == ""


def test_scheduled_again_it_asks_for_what_its_port_asks_by_then() -> None:
    who, net, _fast = fast_cloud()
    made = port(who, net, "a", 6_000)
    vm = world.create(who.member, networks=[{"port": "a"}])[0]
    world.pump()
    assert world.instance_of(vm.pk).vm_state == "error"
    assert not instance_next_steps(caller=who.admin, instance_id=vm.pk).fits
    asked = {"bandwidth": {"resources": {EGRESS: 1_000}, "required": [PHYSNET.format("FAST")]}}
    port_update(caller=who.admin, port_id=made.pk, changes={"resource_request": asked})
    assert instance_next_steps(caller=who.admin, instance_id=vm.pk).fits
    instance_schedule_again(instance_id=vm.pk, caller=who.member)
    world.pump()
    assert world.instance_of(vm.pk).host == "h2"
    (needs,) = RequestSpec.objects.get(instance_uuid=vm.pk).typed_body.port_resources
    assert needs.amounts == {EGRESS: 1_000}
