"""Every living instance by its host, for filters and weighers that read the instances of a host one by one."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from scheduling.domain.hosts.host_details import NO_FLAVOR, NO_SNAPSHOTS, HostInstance, InstanceSnapshots
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from servers.models import Instance

_CHUNK = 5000
_COLUMNS = (
    "pk",
    "host",
    "node",
    "project_id",
    "user_id",
    "name",
    "hostname",
    "availability_zone",
    "vm_state",
    "task_state",
    "power_state",
    "flavor_id",
    "image_id",
    "vcpus",
    "memory_mib",
    "root_gib",
    "ephemeral_gib",
    "key_name",
    "created_at",
    "launched_at",
)
_OF_FLAVOR, _OF_IMAGE = (frozenset(each.name for each in fields(kind)) for kind in (FlavorSnapshot, ImageSnapshot))


class LivingInstances:
    """Two queries at most: one for all instances, and one for their flavors, images and metadata if any is read."""

    def by_host(self) -> Mapping[str, Mapping[str, HostInstance]]:
        """Every instance that has a host: by host, then by uuid."""
        found: dict[str, dict[str, HostInstance]] = defaultdict(dict)
        for row in _living().values_list(*_COLUMNS).iterator(chunk_size=_CHUNK):
            one = _instance(row, self._snapshots_of)
            found[one.host][one.uuid] = one
        return found

    def _snapshots_of(self, uuid: str) -> InstanceSnapshots:
        return self._snapshots.get(uuid, NO_SNAPSHOTS)

    @cached_property
    def _snapshots(self) -> Mapping[str, InstanceSnapshots]:
        rows = _living().values_list("pk", "flavor", "image", "metadata").iterator(chunk_size=_CHUNK)
        return {str(pk): _snapshot(flavor, image, metadata) for pk, flavor, image, metadata in rows}


def _living() -> QuerySet[Instance]:
    return Instance.objects.filter(deleted_at__isnull=True).exclude(host="").order_by()


def _instance(row: tuple[Any, ...], snapshots: Callable[[str], InstanceSnapshots]) -> HostInstance:
    """Of the row's values in the order of _COLUMNS; None for no task, as Nova has it."""
    pk, host, node, project, user, name, hostname, zone, vm_state, task, power, flavor, image, *others = row
    vcpus, memory_mib, root_gib, ephemeral_gib, key_name, created_at, launched_at = others
    return HostInstance(
        uuid=str(pk),
        host=host,
        node=node,
        project_id=str(project),
        user_id=str(user),
        display_name=name,
        hostname=hostname,
        availability_zone=zone,
        vm_state=vm_state,
        task_state=task or None,
        power_state=power,
        instance_type_id="" if flavor is None else str(flavor),
        image_ref="" if image is None else str(image),
        vcpus=vcpus,
        memory_mb=memory_mib,
        root_gb=root_gib,
        ephemeral_gb=ephemeral_gib,
        key_name=key_name,
        created_at=created_at,
        launched_at=launched_at,
        snapshots=snapshots,
    )


def _snapshot(flavor: Mapping[str, Any], image: Mapping[str, Any], metadata: Mapping[str, str]) -> InstanceSnapshots:
    return InstanceSnapshots(
        FlavorSnapshot(**{name: value for name, value in flavor.items() if name in _OF_FLAVOR})
        if flavor
        else NO_FLAVOR,
        ImageSnapshot(**{name: value for name, value in image.items() if name in _OF_IMAGE}),
        metadata,
    )
