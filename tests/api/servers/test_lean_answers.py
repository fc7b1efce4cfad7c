"""What one instance is shown by takes the short ways: each gives what the long one gives."""

import json
from typing import Any

import pytest
from django.db.models import Model
from rest_framework import serializers

from controlplane.identity.models import Project
from controlplane.infra.api.lean_output import LeanOutput
from servers.api.serializers.block_devices import BlockDeviceOutput
from servers.api.serializers.instances import InstanceOutput
from servers.api.serializers.interfaces import InterfaceOutput
from servers.instances.selectors.block_devices import instance_disks
from servers.instances.selectors.instances import instance_get, instance_tags_read
from servers.instances.selectors.interfaces import instance_interfaces
from servers.models import Instance, InstanceTag, Port
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
@remembered
def who() -> world.People:
    """With three instances: one with cards and tags, one without tags, one that has no row yet."""
    people = nets.cloud_with_networks("h1")
    ours = Project.objects.get(pk=people.member.project_id)
    nets.network("net", project=ours)
    outside = nets.network("outside", cidr="192.0.2.0/24", is_external=True)
    world.create(people.member, "tagged", networks=[{"network": "net", "tag": "front"}], tags=["b", "ä 'x'"])
    world.create(people.member, "plain", networks=[{"network": "net"}])
    world.pump()
    world.finish_builds()
    world.create(people.member, "waits", tags=["z", "a"])
    port = Port.objects.get(instance_uuid=Instance.objects.get(name="tagged").pk)
    nets.floating(ours, outside, port, nets.router(ours, "h1"))
    return people


def shown(serializer: type[LeanOutput[Any]], one: Any, context: dict[str, Any]) -> None:
    """The same fields, in the same order, with the same values."""
    plain = serializers.Serializer.to_representation(serializer(one, context=context), one)
    lean = serializer.shown([one], **context)
    assert json.dumps(lean, default=str) == json.dumps([plain], default=str)
    assert list(lean[0]) == list(plain)


def test_shows_what_a_plain_serializer_shows(who: world.People) -> None:
    rows = list(Instance.objects.order_by("name"))
    found = {"interfaces": instance_interfaces(rows), "disks": instance_disks(rows), "faults": {}, "hosts": {}}
    for row in rows:
        for caller in (who.admin, who.member):
            shown(InstanceOutput, row, {"caller": caller, **found})
        for card in found["interfaces"][row.pk]:
            shown(InterfaceOutput, card, {})
        for disk in found["disks"].get(row.pk, ()):
            shown(BlockDeviceOutput, disk, {})
    assert InstanceOutput.shown([]) == []


def columns(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_prepared_rows_are_the_plain_ones(who: world.People) -> None:
    tagged, plain = (Instance.objects.get(name=name) for name in ("tagged", "plain"))
    for row, tags in ((tagged, ["b", "ä 'x'"]), (plain, [])):
        read = instance_get(caller=who.member, instance_id=row.pk)
        assert columns(read) == columns(row)
        assert sorted(read.known_tags or ()) == tags
    assert [one.kind for one in instance_interfaces([tagged])[tagged.pk][0].addresses] == ["fixed", "floating"]
    for rows in ([], [tagged], [tagged, plain]):
        ports = Port.objects.filter(instance_uuid__in=[one.pk for one in rows]).order_by("position")
        cards = instance_interfaces(rows)
        assert {card.port_id for its in cards.values() for card in its} == {port.pk for port in ports}
        assert [one.pk for one in rows] == list(cards)
    instance_tags_read([tagged, plain])
    assert (tagged.known_tags, plain.known_tags) == (["b", "ä 'x'"], [])
    InstanceTag.objects.all().delete()
    assert instance_get(caller=who.member, instance_id=tagged.pk).known_tags == []
