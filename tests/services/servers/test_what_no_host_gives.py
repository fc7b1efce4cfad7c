"""What Nova knows and no guest here can have: refused with a reason, and no host is ever tried."""

from typing import Any

import pytest

from controlplane.kernel.errors import InvalidFields
from scheduling.models import SchedulingDecision
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create
from servers.models import AttemptRecord, BuildRequest, Flavor, Image, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
WANTED = InstanceCreate(name="vm", flavor="m1.tiny", image="demo")


@pytest.mark.parametrize(
    ("specs", "properties", "field", "reason"),
    [
        ({"hw:redirected_usb_ports": "1"}, {}, "flavor", "no guest's USB ports are redirected here"),
        ({}, {"hw_redirected_usb_ports": "1"}, "image", "no guest's USB ports are redirected here"),
        ({}, {"hw_floppy_bus": "fdc"}, "image", "no guest has a floppy drive here"),
        ({}, {"hw_rescue_device": "floppy"}, "image", "a rescue disk is one of disk, cdrom"),
        ({}, {"hw_ipxe_boot": "yes"}, "image", "no guest boots a CD that configures the network"),
    ],
)
def test_refused_when_it_is_asked_for(
    specs: dict[str, str], properties: dict[str, str], field: str, reason: str
) -> None:
    who = world.cloud()
    Flavor.objects.filter(name="m1.tiny").update(extra_specs=specs)
    Image.objects.filter(name="demo").update(properties=properties)
    with pytest.raises(InvalidFields) as refused:
        instances_create(caller=who.member, wanted=WANTED)
    said = str(refused.value.errors.get(field) or refused.value.errors)
    assert reason in said
    assert not BuildRequest.objects.exists()


@pytest.mark.parametrize(
    ("specs", "properties", "missing"),
    [
        ({"hw:mem_encryption": "yes"}, {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}, "MEM_ENCRYPTION"),
        ({"hw:pmem": "fast"}, {}, "PMEM"),
        ({"hw:ephemeral_encryption": "yes"}, {}, "EPHEMERAL_ENCRYPTION"),
    ],
)
def test_no_host_is_tried_for_what_none_reports(
    specs: dict[str, str], properties: dict[str, Any], missing: str
) -> None:
    who = world.cloud()
    Flavor.objects.filter(name="m1.tiny").update(extra_specs=specs)
    Image.objects.filter(name="demo").update(properties=properties)
    instances_create(caller=who.member, wanted=WANTED)
    world.pump()
    instance = Instance.objects.get()
    assert (instance.vm_state, instance.host) == ("error", "")
    assert not AttemptRecord.objects.exists()
    decision = SchedulingDecision.objects.get()
    assert decision.outcome == "no_valid_host"
    shown = world.client_of(who.admin).get(f"/api/decisions/{decision.pk}/")
    assert missing in shown.content.decode()
