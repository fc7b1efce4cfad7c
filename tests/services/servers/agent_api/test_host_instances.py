"""What an agent that starts is told of the instances on its host."""

import pytest

from servers.agent_api.host_instances import instances_on_host
from servers.instances.services.act import instance_act
from servers.instances.services.screenshot import screenshot_request
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_picture_that_somebody_waits_for_keeps_no_guest_from_being_brought_back() -> None:
    """Agents leave instances alone on which work is open, since it finds or makes their guest: a picture does not."""
    who = world.cloud("h1")
    watched, rebooted = (world.active(who.member, name) for name in ("watched", "rebooted"))
    Instance.objects.update(power_state="running")
    screenshot_request(caller=who.member, instance_id=watched.pk)
    instance_act(caller=who.member, instance_id=rebooted.pk, action="reboot")
    assert {one.name: one.has_open_work for one in instances_on_host("h1")} == {"watched": False, "rebooted": True}
