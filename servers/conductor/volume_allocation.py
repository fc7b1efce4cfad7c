"""Disks of instances that are about to be built: their rows, and those of the volumes that the builds will make."""

import uuid
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction

from controlplane.kernel.errors import KilonovaError
from servers.catalog.services.quota import quota_lock
from servers.instances.domain.bodies import SpecBody
from servers.models import Instance, RequestSpec
from servers.volumes.services.with_instances import (
    block_devices_write,
    instance_volumes_make,
    instance_volumes_release,
)


def volume_quota_hold(specs: Iterable[RequestSpec]) -> None:
    """Hold the quotas of the projects whose builds make volumes, before anything else is locked that projects share:
    so everybody waits in the same order.
    """
    makers = {spec.project_id for spec in specs if any(one.makes_volume for one in spec.typed_body.block_devices or ())}
    for project_id in sorted(makers):
        quota_lock(project_id)


def disks_of_builds(
    instances: Sequence[Instance], specs: Mapping[uuid.UUID, SpecBody]
) -> dict[uuid.UUID, KilonovaError]:
    """Write the rows of the disks of instances that have a host by now, whose rows are not written yet, and make those
    of their new volumes, in pools of these hosts. `specs` are by instance.

    Returns why some have none: NoCapacity, where another host may do, or what no host can change.
    """
    refused: dict[uuid.UUID, KilonovaError] = {}
    for instance in instances:
        devices = specs[instance.pk].block_devices
        if devices is None:
            continue
        instance.has_block_devices = True
        block_devices_write(instance.pk, devices)
        error = volumes_of_build(instance) if any(one.makes_volume for one in devices) else None
        if error is not None:
            refused[instance.pk] = error
    return refused


def volumes_of_build(instance: Instance) -> KilonovaError | None:
    """The rows of its new volumes, in pools of its host, all or none. Returns why none."""
    try:
        with transaction.atomic():
            instance_volumes_make(
                instance_uuid=instance.pk,
                project_id=instance.project_id,
                user_id=instance.user_id,
                host=instance.host,
                availability_zone=instance.availability_zone,
            )
    except KilonovaError as error:
        return error
    return None


def disks_without_host(instances: Sequence[Instance]) -> None:
    """They found no host: their volumes are free for others, and the rows of their disks say what was asked for."""
    rows = RequestSpec.objects.filter(instance_uuid__in=[instance.pk for instance in instances])
    devices = {row.instance_uuid: row.typed_body.block_devices for row in rows}
    for instance in instances:
        named = devices.get(instance.pk)
        if named is not None:
            instance_volumes_release(instance_uuid=instance.pk, is_terminated=False)
            block_devices_write(instance.pk, named)
            instance.has_block_devices = True
