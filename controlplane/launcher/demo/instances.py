"""Writes the instances of a demo with what belongs to each: mapping, request spec, first attempt, allocations."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import DateTimeField, ExpressionWrapper, F

from controlplane.launcher.demo.placing import Placed
from controlplane.launcher.demo.rows import TOGETHER, rows_write
from placement.models import Allocation, Consumer, ResourceClass, ResourceProvider
from scheduling.fleet.domain.cells import CELL1_ID
from servers.instances.domain.bodies import SpecBody
from servers.models import AttemptRecord, Instance, InstanceMapping, RequestSpec


def instances_write(placed: Sequence[Placed], addresses: dict[UUID, str]) -> None:
    """All of them; the room that they take is counted in the inventories already."""
    rows_write(Instance, (_instance(one, addresses[one.id]) for one in placed))
    rows_write(
        InstanceMapping,
        (InstanceMapping(instance_uuid=one.id, cell_id=CELL1_ID, project=one.team.project) for one in placed),
    )
    bodies: dict[tuple[str, str], dict[str, object]] = {}
    rows_write(RequestSpec, (_spec(one, bodies) for one in placed))
    rows_write(AttemptRecord, (_attempt(one) for one in placed if one.host is not None))
    _allocations(placed)
    _backdate()


def _instance(one: Placed, address: str) -> Instance:
    host, flavor = one.host, one.flavor.asked
    return Instance(
        id=one.id,
        project_id=one.team.project.pk,
        user_id=one.user.user_id,
        name=one.name,
        hostname=one.name,
        host=host.name if host else "",
        node=host.node if host else "",
        launched_on=host.name if host else "",
        compute_node_uuid=host.node_id if host else None,
        availability_zone=host.zone if host else "",
        vm_state=one.state.vm_state.value,
        power_state=one.state.power_state.value,
        power_reason=one.state.reason,
        generation=4,
        flavor=one.flavor.snapshot,
        flavor_id=one.flavor.id,
        vcpus=flavor.vcpus,
        memory_mib=flavor.memory_mib,
        root_gib=flavor.root_gib,
        image=one.image.snapshot,
        image_id=one.image.id,
        metadata={"service": one.name.rpartition("-")[0]},
        addresses={f"{one.team.kind.name}-net": [address]},
        request_id=one.request_id,
        reservation_id=one.reservation_id,
        launch_index=one.launch_index,
        hosts_tried=[],
        attempts=1,
        launched_at=one.launched_at,
        shelved_at=None if host else one.launched_at + timedelta(days=1),
    )


def _spec(one: Placed, bodies: dict[tuple[str, str], dict[str, object]]) -> RequestSpec:
    key = one.flavor.name, one.image.name
    if key not in bodies:
        bodies[key] = SpecBody(flavor=one.flavor.asked, image=one.image.asked).to_dict()
    return RequestSpec(
        instance_uuid=one.id,
        reservation_id=one.reservation_id,
        project_id=one.team.project.pk,
        user_id=one.user.user_id,
        body=bodies[key],
    )


def _attempt(one: Placed) -> AttemptRecord:
    return AttemptRecord(
        instance_uuid=one.id,
        number=1,
        host=one.host.name if one.host else "",
        started_at=one.asked_at,
        finished_at=one.launched_at,
        outcome="active",
    )


def _allocations(placed: Sequence[Placed]) -> None:
    """A consumer for each instance on a host, with all that its flavor asks for, of its own node."""
    providers = dict(ResourceProvider.objects.values_list("uuid", "pk"))
    classes = dict(ResourceClass.objects.values_list("name", "pk"))
    having = [one for one in placed if one.host is not None]
    for start in range(0, len(having), TOGETHER):
        part = having[start : start + TOGETHER]
        consumers = Consumer.objects.bulk_create(
            Consumer(
                uuid=one.id,
                project_id=str(one.team.project.pk),
                user_id=str(one.user.user_id),
                consumer_type="INSTANCE",
            )
            for one in part
        )
        rows_write(
            Allocation,
            (
                Allocation(
                    consumer=consumer,
                    provider_id=providers[one.host.node_id],
                    resource_class_id=classes[name],
                    used=amount,
                )
                for consumer, one in zip(consumers, part, strict=True)
                if one.host is not None
                for name, amount in one.flavor.amounts.items()
            ),
        )


def _backdate() -> None:
    """Rows are made now; that they were made when they were asked for is said afterwards, in one statement."""
    asked_at = ExpressionWrapper(F("launched_at") - timedelta(seconds=3), output_field=DateTimeField())
    Instance.objects.filter(launched_at__isnull=False).update(created_at=asked_at, updated_at=F("launched_at"))
