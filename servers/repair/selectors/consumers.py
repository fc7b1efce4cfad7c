"""Who of Placement's consumers has an owner here."""

import uuid
from collections.abc import Collection

from servers.instances.selectors.pending import pending_instance
from servers.models import BuildRequest, Instance, Volume, VolumeSnapshot


def consumers_without_owner(consumers: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Those that are no build request, no living instance, no volume and no snapshot of one. Two queries, or five
    where there are any.

    Build requests first: dispatch replaces them by instances in one transaction, so whoever is seen in neither look
    was in neither table. The other way round, an instance dispatched between the two would seem to be nobody's.
    Scheduling again replaces an instance by a build request, so whoever seems to be nobody's is looked for there once
    more.
    """
    ownerless = set(consumers)
    ownerless.difference_update(_pending(ownerless))
    living = Instance.objects.filter(pk__in=ownerless, deleted_at__isnull=True)
    ownerless.difference_update(living.values_list("pk", flat=True))
    return ownerless.difference(_pending(ownerless), _volumes(ownerless)) if ownerless else ownerless


def _pending(consumers: Collection[uuid.UUID]) -> list[uuid.UUID]:
    rows = BuildRequest.objects.filter(instance_uuid__in=consumers)
    return list(rows.values_list("instance_uuid", flat=True))


def _volumes(consumers: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """A volume's row is written before its claim, in one transaction."""
    volumes = Volume.objects.filter(pk__in=consumers).values_list("pk", flat=True)
    return {*volumes, *VolumeSnapshot.objects.filter(pk__in=consumers).values_list("pk", flat=True)}


def instance_uuids_seen(consumers: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Those that are or were instances, deleted ones too."""
    return set(Instance.objects.filter(pk__in=consumers).values_list("pk", flat=True))


def instances_of_consumers(consumers: Collection[uuid.UUID]) -> dict[uuid.UUID, Instance]:
    """{consumer: its instance}, deleted ones and those that wait for a host included. Two queries. For admins."""
    pending = BuildRequest.objects.filter(instance_uuid__in=consumers)
    found = {one.instance_uuid: pending_instance(one) for one in pending}
    return found | {one.pk: one for one in Instance.objects.filter(pk__in=consumers)}
