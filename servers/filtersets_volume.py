"""How volumes, snapshots, backups, types and pools are searched: one class serves API and page."""

import django_filters
from django.db.models import Q

from controlplane.infra.quick_search import QuickSearch
from servers.models import (
    Instance,
    StoragePool,
    StoragePoolHost,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeSnapshot,
    VolumeType,
)


class VolumeFilter(QuickSearch):
    """Volumes, also by any attribute: ?q="""

    search_fields = ("name", "description", "state", "fault", "volume_type__name")
    search_json = ("metadata",)

    name = django_filters.CharFilter(lookup_expr="icontains")

    class Meta:
        model = Volume
        fields = ["name", "state", "volume_type", "pool", "is_bootable", "is_encrypted", "is_multiattach"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the names of the instances that have it."""
        named = Instance.objects.filter(name__icontains=word, deleted_at__isnull=True)
        holding = VolumeAttachment.objects.filter(instance_uuid__in=named.values("pk"))
        return super().condition_of(word) | Q(pk__in=holding.values("volume_id"))


class VolumeSnapshotFilter(QuickSearch):
    """Snapshots of volumes, also by any attribute: ?q="""

    search_fields = ("name", "description", "state", "fault", "volume__name", "project__name")
    search_ids = ("pk", "image_id", "volume__pk")

    name = django_filters.CharFilter(lookup_expr="icontains")
    volume = django_filters.UUIDFilter(field_name="volume_id")

    class Meta:
        model = VolumeSnapshot
        fields = ["name", "state"]


class VolumeBackupFilter(QuickSearch):
    """Backups of volumes, also by any attribute: ?q="""

    search_fields = ("name", "description", "state", "fault", "volume_name", "checksum", "project__name")
    search_ids = ("pk", "volume_id")

    name = django_filters.CharFilter(lookup_expr="icontains")

    class Meta:
        model = VolumeBackup
        fields = ["name", "state", "volume_id"]


class VolumeTypeFilter(QuickSearch):
    """Volume types, also by any attribute: ?q="""

    search_fields = ("name", "description")
    search_json = ("pools", "kinds")

    name = django_filters.CharFilter(lookup_expr="icontains")

    class Meta:
        model = VolumeType
        fields = ["name", "is_public", "is_default", "is_encrypted", "is_multiattach"]


class StoragePoolFilter(QuickSearch):
    """Pools, also by any attribute: ?q="""

    search_fields = ("name", "kind", "host", "identity")

    name = django_filters.CharFilter(lookup_expr="icontains")

    class Meta:
        model = StoragePool
        fields = ["name", "kind", "host", "is_enabled"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the hosts that reach it, and by what is wrong with it there."""
        reached = StoragePoolHost.objects.filter(Q(host__icontains=word) | Q(problem__icontains=word))
        return super().condition_of(word) | Q(pk__in=reached.values("pool_id"))
