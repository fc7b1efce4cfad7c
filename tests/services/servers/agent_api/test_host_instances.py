"""What an agent that starts is told of the instances on its host."""

import pytest

from servers.agent_api.host_instances import instances_on_host
from servers.instances.services.act import instance_act
from servers.instances.services.screenshot import screenshot_request
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_work_without_a_task_keeps_no_guest_from_being_brought_back() -> None:
    """Agents leave instances alone on which work is open, since it finds or makes their guest. A picture does not, nor
    does an interrupt.
    """
    who = world.cloud("h1")
    watched, dumped, rebooted = (world.active(who.member, name) for name in ("watched", "dumped", "rebooted"))
    Instance.objects.update(power_state="running")
    screenshot_request(caller=who.member, instance_id=watched.pk)
    instance_act(caller=who.member, instance_id=dumped.pk, action="trigger_crash_dump")
    instance_act(caller=who.member, instance_id=rebooted.pk, action="reboot")
    busy = {one.name: one.has_open_work for one in instances_on_host("h1")}
    assert busy == {"watched": False, "dumped": False, "rebooted": True}
