"""What lists of the catalog can be narrowed by; one class serves the API and the pages."""

import django_filters as filters

from servers.catalog.domain.groups import GroupPolicy
from servers.images.domain.images import DiskFormat, ImageStatus, Visibility
from servers.models import Flavor, Image, KeyPair, Network, ServerGroup


class FlavorFilterSet(filters.FilterSet):
    """Flavors by name and by least size."""

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    vcpus_min = filters.NumberFilter(field_name="vcpus", lookup_expr="gte", label="vCPUs at least")
    memory_mib_min = filters.NumberFilter(field_name="memory_mib", lookup_expr="gte", label="Memory (MiB) at least")
    root_gib_min = filters.NumberFilter(field_name="root_gib", lookup_expr="gte", label="Root disk (GiB) at least")

    class Meta:
        model = Flavor
        fields = ["name", "is_public", "disabled", "vcpus", "memory_mib"]


class ImageFilterSet(filters.FilterSet):
    """Images by name, state and owner."""

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    status = filters.MultipleChoiceFilter(choices=[(one.value, one.value) for one in ImageStatus])
    visibility = filters.ChoiceFilter(choices=[(one.value, one.value) for one in Visibility])
    disk_format = filters.ChoiceFilter(choices=[(one.value, one.value) for one in DiskFormat])
    project = filters.UUIDFilter(field_name="project_id")
    size_bytes_max = filters.NumberFilter(field_name="size_bytes", lookup_expr="lte", label="At most so many bytes")

    class Meta:
        model = Image
        fields = ["name", "protected", "checksum_sha256"]


class KeyPairFilterSet(filters.FilterSet):
    """Key pairs by name or fingerprint."""

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")

    class Meta:
        model = KeyPair
        fields = ["name", "fingerprint"]


class ServerGroupFilterSet(filters.FilterSet):
    """Server groups by name, policy, project, and by who is in them."""

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    policy = filters.ChoiceFilter(choices=[(one.value, one.value) for one in GroupPolicy])
    project = filters.UUIDFilter(field_name="project_id")
    member = filters.UUIDFilter(field_name="members__instance_uuid", label="Instance that is a member")

    class Meta:
        model = ServerGroup
        fields = ["name"]


class NetworkFilterSet(filters.FilterSet):
    """Networks by name."""

    class Meta:
        model = Network
        fields = ["name", "is_default"]
