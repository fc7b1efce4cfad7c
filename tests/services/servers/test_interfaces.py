"""Interfaces are added to instances and taken away: the port, the work, the guest, and how each way ends."""

from pathlib import Path
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.errors import (
    Conflict,
    Forbidden,
    Invalid,
    InvalidFields,
    KilonovaError,
    NotFound,
    QuotaExceeded,
)
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.reconcile import reconcile_once
from servers.instances.services import device_requests
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.device_turns import device_turns_round
from servers.models import Instance, InstanceAction, InstanceFault, IPAllocation, Port, WaitingAction
from servers.networks.domain.names import PortOwner
from servers.repair.services.audit import audit_findings
from tests.worlds import cloud as world
from tests.worlds import networks as nets
from tests.worlds.agent_hands import Hands, built, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)
ATTACH, DETACH = "attach_interface", "detach_interface"


class Cloud:
    """One instance with one interface, on a host with a fake hypervisor."""

    def __init__(self, path: Path) -> None:
        self.who = people_and_image()
        self.project = Project.objects.get(pk=self.who.member.project_id)
        self.net = nets.network("net", project=self.project)
        self.h1 = Hands("h1", path)
        self.vm = built(self.who.member, self.h1, networks=[{"network": "net"}])

    def act(self, action: str, caller: Any = None, **arguments: str) -> Instance:
        return instance_act(
            caller=caller or self.who.member, instance_id=self.vm.pk, action=action, arguments=arguments
        )

    def ports(self) -> list[Port]:
        return list(Port.objects.filter(instance_uuid=self.vm.pk).order_by("position"))

    def macs(self) -> list[str]:
        return self.h1.fake._guests[str(self.vm.pk)].macs

    def state(self) -> tuple[str, str]:
        row = Instance.objects.get(pk=self.vm.pk)
        return row.vm_state, row.task_state


@pytest.fixture
def cloud(tmp_path: Path, settings: Any) -> Cloud:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    return Cloud(tmp_path)


def test_interface_comes_and_goes(cloud: Cloud) -> None:
    cloud.act(ATTACH, network="net", fixed_ip="10.20.9.9", tag="back")
    assert cloud.state() == ("active", "networking")
    first, second = cloud.ports()
    assert (second.addresses, second.tag, second.host, second.position) == (["10.20.9.9"], "back", "h1", 1)
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    assert cloud.state() == ("active", "")
    assert cloud.macs() == [first.mac, second.mac]
    assert InstanceAction.objects.get(instance_uuid=cloud.vm.pk, action=ATTACH).result == "success"
    cloud.act(DETACH, port=str(second.pk))
    assert len(cloud.ports()) == 2  # until the guest has let go of it
    cloud.h1.do(WorkKind.DETACH_INTERFACE)
    assert cloud.macs() == [first.mac]
    assert cloud.ports() == [first]
    assert not IPAllocation.objects.filter(address="10.20.9.9").exists()
    assert audit_findings() == []


def test_given_port_is_free_again_afterwards(cloud: Cloud) -> None:
    given = nets.port(cloud.net, project=cloud.project, name="mine", owner=PortOwner.NOBODY, is_of_instance=False)
    cloud.act(ATTACH, port="mine")
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    assert cloud.ports()[1].pk == given.pk and cloud.ports()[1].host == "h1"
    cloud.act(DETACH, port=str(given.pk))
    cloud.h1.do(WorkKind.DETACH_INTERFACE)
    given.refresh_from_db()
    assert (given.instance_uuid, given.owner, given.host) == (None, "", "")


def test_without_network_and_port_the_only_network_is_taken(cloud: Cloud) -> None:
    cloud.act(ATTACH)
    assert [port.network for port in cloud.ports()] == [cloud.net, cloud.net]


def test_an_address_without_its_network_is_refused(cloud: Cloud) -> None:
    with pytest.raises(Invalid, match="name the network") as refused:
        cloud.act(ATTACH, fixed_ip="10.20.9.9")
    assert refused.value.field == "fixed_ip" and len(cloud.ports()) == 1


def test_without_any_network_there_is_nothing_to_add(tmp_path: Path, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    who, host = people_and_image(), Hands("h1", tmp_path)
    vm = built(who.member, host)
    with pytest.raises(Invalid, match="no network") as refused:
        instance_act(caller=who.member, instance_id=vm.pk, action=ATTACH, arguments={})
    assert refused.value.field == "network" and not Port.objects.exists()


def fails(cloud: Cloud, monkeypatch: pytest.MonkeyPatch, verb: str, failure_class: FailureClass) -> None:
    def refuse(*_args: object, **_named: object) -> None:
        raise DriverError("the guest did not", failure_class=failure_class)

    monkeypatch.setattr(cloud.h1.fake, verb, refuse)


def test_port_of_a_card_that_could_not_be_added_is_free_again(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(cloud, monkeypatch, ATTACH, FailureClass.HOST)
    before = cloud.ports()
    cloud.act(ATTACH, network="net")
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    assert cloud.state() == ("active", "")
    assert cloud.ports() == before
    assert "could not do it" in InstanceFault.objects.get(instance_uuid=cloud.vm.pk).message


def test_card_that_the_guest_keeps_stays_its_own(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(cloud, monkeypatch, DETACH, FailureClass.USER)
    cloud.act(DETACH, port=str(cloud.ports()[0].pk))
    cloud.h1.do(WorkKind.DETACH_INTERFACE)
    assert cloud.state() == ("active", "")
    assert len(cloud.ports()) == 1
    assert "the guest did not" in InstanceFault.objects.get(instance_uuid=cloud.vm.pk).message


def test_silent_host_leaves_the_port_with_the_instance(cloud: Cloud) -> None:
    cloud.act(ATTACH, network="net")
    Work.objects.filter(kind=WorkKind.ATTACH_INTERFACE).update(deadline_at="2000-01-01T00:00:00Z")
    reconcile_once()
    assert cloud.state() == ("active", "")
    assert len(cloud.ports()) == 2
    cloud.act(DETACH, port=str(cloud.ports()[1].pk))
    cloud.h1.do(WorkKind.DETACH_INTERFACE)
    assert len(cloud.ports()) == 1


def test_last_interface_can_go_and_none_takes_its_place(cloud: Cloud) -> None:
    cloud.act(DETACH, port=str(cloud.ports()[0].pk))
    cloud.h1.do(WorkKind.DETACH_INTERFACE)
    cloud.act("reboot")
    held = cloud.h1.take(WorkKind.REBOOT)
    assert (held.guest.ports, held.guest.has_default_network) == ((), False)


def test_instance_that_is_off_gets_it_for_its_next_start(cloud: Cloud) -> None:
    cloud.act("stop")
    cloud.h1.do(WorkKind.STOP)
    cloud.act(ATTACH, network="net")
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    assert cloud.state() == ("stopped", "")
    assert len(cloud.macs()) == 2


@pytest.mark.parametrize(
    ("action", "arguments", "error", "words", "field"),
    [
        (ATTACH, {"network": "none such"}, InvalidFields, "no network", "network"),
        (ATTACH, {"network": "net", "port": "x"}, InvalidFields, "both", "port"),
        (ATTACH, {"network": "net", "fixed_ip": "10.99.0.1"}, InvalidFields, "in no subnet", "fixed_ip"),
        (ATTACH, {"network": "net", "fixed_ip": "10.20.9"}, InvalidFields, "no IP address", "fixed_ip"),
        (ATTACH, {"network": "none such", "fixed_ip": "10.20.9"}, InvalidFields, "no IP address", "fixed_ip"),
        (ATTACH, {"network": "none such", "fixed_ip": "10.99.0.1"}, InvalidFields, "no network", "network"),
        (ATTACH, {"network": "net", "fixed_ip": "10.20.9", "tag": "a,b"}, InvalidFields, "no IP address", "network"),
        (ATTACH, {"port": "none such", "fixed_ip": "10.20.9.9"}, InvalidFields, "with a port", "fixed_ip"),
        (
            ATTACH,
            {"network": "net", "security_groups": "web,none"},
            InvalidFields,
            "no security group",
            "security_groups",
        ),
        (ATTACH, {"network": "net", "tag": "a,b"}, InvalidFields, "comma", "network"),
        (ATTACH, {"port": "taken"}, Conflict, "in use", "port"),
        (ATTACH, {"port": "device"}, Invalid, "only a new instance", "port"),
        (DETACH, {"port": "00000000-0000-0000-0000-000000000001"}, NotFound, "no interface", "port"),
        (DETACH, {"port": "x"}, NotFound, "no interface", "port"),
        (DETACH, {}, InvalidFields, "needed", "port"),
    ],
)
def test_refusals_change_nothing(
    cloud: Cloud, action: str, arguments: dict[str, str], error: type[KilonovaError], words: str, field: str
) -> None:
    nets.group(cloud.project, "web")
    nets.port(cloud.net, project=cloud.project, name="taken")
    free = {"owner": PortOwner.NOBODY, "is_of_instance": False}
    fast = nets.network("fast", project=cloud.project, physical_network="physnet1", segment=None)
    nets.port(fast, project=cloud.project, name="device", vnic_type="direct", **free)
    before = list(Port.objects.order_by("pk").values())
    with pytest.raises(error, match=words) as refused:
        cloud.act(action, **arguments)
    assert refused.value.field == field
    assert list(Port.objects.order_by("pk").values()) == before
    assert cloud.state() == ("active", "")


def test_limits(cloud: Cloud) -> None:
    Project.objects.update(quota_ports=1)
    with pytest.raises(QuotaExceeded, match="ports: 1 asked for, 1 of 1 in use"):
        cloud.act(ATTACH, network="net")
    Project.objects.update(quota_ports=-1)
    for number in range(1, 16):
        nets.port(cloud.net, project=cloud.project, instance_uuid=cloud.vm.pk, position=number)
    with pytest.raises(Conflict, match="has 16 interfaces"):
        cloud.act(ATTACH, network="net")


def test_who_may(cloud: Cloud) -> None:
    with pytest.raises(Forbidden):
        cloud.act(ATTACH, cloud.who.reader, network="net")
    with pytest.raises(NotFound):
        cloud.act(ATTACH, cloud.who.stranger, network="net")
    cloud.act(ATTACH, cloud.who.admin, network="net")
    assert cloud.ports()[1].project_id == cloud.vm.project_id
    with pytest.raises(Conflict, match="busy with networking"):
        cloud.act("stop")


def test_several_come_and_go_one_after_the_other(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for tag in ("a", "b"):
        with request_id_scope(f"req-{tag}"):
            cloud.act(ATTACH, network="net", tag=tag)
    old, one, two = cloud.ports()
    cloud.act(DETACH, port=str(old.pk))
    for port in (old, one, two):
        with pytest.raises(Conflict, match="just being added or taken away"):
            cloud.act(DETACH, port=str(port.pk))
    monkeypatch.setattr(device_requests, "MAX_WAITING", 2)
    with pytest.raises(Conflict, match="2 changes of the instance's devices wait already"):
        cloud.act(ATTACH, network="net")
    assert len(cloud.ports()) == 3, "what is refused takes no port"
    assert Work.objects.filter(state__in=OPEN_STATES).count() == 1
    assert [one.action for one in WaitingAction.objects.all()] == [ATTACH, DETACH]
    for kind, macs in ((ATTACH, [old, one]), (ATTACH, [old, one, two]), (DETACH, [one, two])):
        assert cloud.state() == ("active", "networking")
        cloud.h1.do(WorkKind(kind))
        assert cloud.macs() == [port.mac for port in macs]
    assert cloud.state() == ("active", "")
    assert cloud.ports() == [one, two]
    actions = InstanceAction.objects.filter(instance_uuid=cloud.vm.pk, action=ATTACH).order_by("pk")
    assert [(each.request_id, each.result) for each in actions] == [("req-a", "success"), ("req-b", "success")]
    assert not WaitingAction.objects.exists()
    assert audit_findings() == []


def test_next_one_begins_whatever_became_of_the_one_before(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for tag in ("fails", "is late", "comes"):
        cloud.act(ATTACH, network="net", tag=tag)
    with monkeypatch.context() as failing:
        fails(cloud, failing, ATTACH, FailureClass.HOST)
        cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    Work.objects.filter(kind=ATTACH, state__in=OPEN_STATES).update(deadline_at="2000-01-01T00:00:00Z")
    reconcile_once()
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    assert [port.tag for port in cloud.ports()] == ["", "is late", "comes"]
    assert cloud.state() == ("active", "")


def test_what_can_not_begin_any_more_gives_its_port_back(cloud: Cloud) -> None:
    given = nets.port(cloud.net, project=cloud.project, name="mine", owner=PortOwner.NOBODY, is_of_instance=False)
    cloud.act(ATTACH, network="net")
    cloud.act(ATTACH, port="mine")
    Instance.objects.update(vm_state="suspended")  # as if its host said so meanwhile
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    given.refresh_from_db()
    assert (given.instance_uuid, len(cloud.ports())) == (None, 2)
    assert not WaitingAction.objects.exists()
    last = InstanceAction.objects.filter(instance_uuid=cloud.vm.pk).order_by("pk").last()
    assert last is not None
    assert (last.action, last.result) == (ATTACH, "error")
    assert last.message.startswith("It was not begun: ")


def test_deletion_and_a_lost_turn_leave_nothing_waiting(cloud: Cloud) -> None:
    given = nets.port(cloud.net, project=cloud.project, name="mine", owner=PortOwner.NOBODY, is_of_instance=False)
    cloud.act(ATTACH, network="net")
    cloud.act(ATTACH, port="mine")
    assert device_turns_round() == 0, "it waits for its turn"
    Work.objects.filter(kind=ATTACH).update(state="cancelled")
    Instance.objects.update(task_state="")
    assert "waiting behind nothing" in str(audit_findings())
    assert (device_turns_round(), device_turns_round()) == (1, 0)
    assert cloud.state() == ("active", "networking")
    cloud.act(ATTACH, network="net")
    instance_delete(caller=cloud.who.member, instance_id=cloud.vm.pk)
    assert not WaitingAction.objects.exists()
    cloud.h1.do(WorkKind.DELETE)
    given.refresh_from_db()
    assert given.instance_uuid is None
    assert not cloud.ports()
    assert audit_findings() == []


def test_api(cloud: Cloud) -> None:
    client = world.client_of(cloud.who.member)
    path = f"/api/instances/{cloud.vm.pk}/interfaces/"
    answer = client.post(path, {"network": "net", "tag": "back", "security_groups": ["default"]}, format="json")
    assert answer.status_code == 202, answer.json()
    assert [one["tag"] for one in answer.json()] == ["", "back"]
    cloud.h1.do(WorkKind.ATTACH_INTERFACE)
    port = answer.json()[1]["port_id"]
    assert client.delete(f"{path}{port}/").status_code == 202
    cloud.h1.do(WorkKind.DETACH_INTERFACE)
    assert [one["tag"] for one in client.get(path).json()] == [""]
    assert client.delete(f"{path}{port}/").status_code == 404
    refused = client.post(path, {"network": "x"}, format="json")
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "network")
