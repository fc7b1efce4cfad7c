"""What lists of the catalog can be narrowed by; one class serves the API and the pages."""

import django_filters as filters
from django.db.models import Q, QuerySet

from controlplane.infra.list_filters import ListFilterSet, WholeNumberFilter
from controlplane.infra.quick_search import QuickSearch
from servers.catalog.domain.groups import GroupPolicy
from servers.images.domain.images import DiskFormat, ImageStatus, MemberStatus, Visibility
from servers.models import (
    AgentCredential,
    DeviceProfile,
    Flavor,
    Image,
    Instance,
    KeyPair,
    ServerGroup,
    ServerGroupMember,
)


class FlavorFilterSet(QuickSearch):
    """Flavors by any attribute, by name and by least size."""

    search_fields = ("name", "description")
    search_json = ("extra_specs",)

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    vcpus_min = WholeNumberFilter(field_name="vcpus", lookup_expr="gte", label="vCPUs at least")
    memory_mib_min = WholeNumberFilter(field_name="memory_mib", lookup_expr="gte", label="Memory (MiB) at least")
    root_gib_min = WholeNumberFilter(field_name="root_gib", lookup_expr="gte", label="Root disk (GiB) at least")

    class Meta:
        model = Flavor
        fields = ["name", "is_public", "disabled", "vcpus", "memory_mib"]


class AgentFilterSet(ListFilterSet):
    """Secrets of agents by host."""

    class Meta:
        model = AgentCredential
        fields = ["host"]


class DeviceProfileFilterSet(ListFilterSet):
    """Device profiles by name."""

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")

    class Meta:
        model = DeviceProfile
        fields = ["name"]


class ImageFilterSet(QuickSearch):
    """Images by any attribute, by name, state and owner."""

    search_fields = ("name", "status", "visibility", "disk_format", "checksum_sha256")
    search_json = ("properties",)

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    status = filters.MultipleChoiceFilter(choices=[(one.value, one.value) for one in ImageStatus])
    visibility = filters.ChoiceFilter(choices=[(one.value, one.value) for one in Visibility])
    disk_format = filters.ChoiceFilter(choices=[(one.value, one.value) for one in DiskFormat])
    project = filters.UUIDFilter(field_name="project_id")
    member_status = filters.ChoiceFilter(
        choices=[(one.value, one.value) for one in MemberStatus], method="as_it_is", label="What its project said"
    )
    size_bytes_max = WholeNumberFilter(field_name="size_bytes", lookup_expr="lte", label="At most so many bytes")
    instance = filters.UUIDFilter(field_name="instance_uuid", label="Snapshots and backups of an instance")

    class Meta:
        model = Image
        fields = ["name", "protected", "checksum_sha256"]

    def as_it_is(self, rows: QuerySet[Image], _name: str, _value: str) -> QuerySet[Image]:
        """The selector has narrowed the rows already: it says who sees what."""
        return rows


class KeyPairFilterSet(QuickSearch):
    """Key pairs by any attribute, by name or fingerprint."""

    search_fields = ("name", "fingerprint", "public_key")
    search_ids = ()

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")

    class Meta:
        model = KeyPair
        fields = ["name", "fingerprint"]


class ServerGroupFilterSet(QuickSearch):
    """Server groups by any attribute, by name, policy, project, and by who is in them."""

    search_fields = ("name", "policy", "project__name")

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    policy = filters.ChoiceFilter(choices=[(one.value, one.value) for one in GroupPolicy])
    project = filters.UUIDFilter(field_name="project_id")
    member = filters.UUIDFilter(field_name="members__instance_uuid", label="Instance that is a member")

    class Meta:
        model = ServerGroup
        fields = ["name"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the names of the instances that are in it."""
        named = Instance.objects.filter(name__icontains=word, deleted_at__isnull=True)
        members = ServerGroupMember.objects.filter(instance_uuid__in=named.values("pk"))
        return super().condition_of(word) | Q(pk__in=members.values("group_id"))
