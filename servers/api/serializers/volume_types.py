"""Volume types and storage pools in the API's JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from computeagent.protocol.volumes import PoolKind
from controlplane.infra.api.strict import StrictInput
from servers.models import StoragePool, StoragePoolHost, VolumeType


class VolumeTypeChange(StrictInput):
    """What may change of a type. Values are checked by the service."""

    name = serializers.CharField(required=False, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    is_public = serializers.BooleanField(required=False, help_text="All projects may use it.")
    is_default = serializers.BooleanField(required=False, help_text="Takes the place of the default before.")
    pools = serializers.ListField(child=serializers.CharField(), required=False, help_text="Names; empty: any.")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=[kind.value for kind in PoolKind]), required=False
    )
    is_encrypted = serializers.BooleanField(required=False)
    is_multiattach = serializers.BooleanField(required=False)
    qos = serializers.JSONField(required=False, help_text="Per second: total_iops, read_bytes and so on.")
    qos_per_gib = serializers.JSONField(required=False, help_text="What each GiB of a volume adds to them.")
    min_gib = serializers.IntegerField(required=False, help_text="0: no limit.")
    max_gib = serializers.IntegerField(required=False, help_text="0: no limit.")

    def typed(self) -> dict[str, Any]:
        """Values as the service takes them."""
        return {
            name: tuple(value) if name in {"pools", "kinds"} else value for name, value in self.validated_data.items()
        }


class VolumeTypeInput(VolumeTypeChange):
    """A new type."""

    name = serializers.CharField(trim_whitespace=False)


class VolumeTypeOutput(serializers.ModelSerializer[VolumeType]):
    """A type that volumes may have. Where they are is told to administrators."""

    pools = serializers.SerializerMethodField()
    kinds = serializers.SerializerMethodField()

    class Meta:
        model = VolumeType
        fields = [
            "id",
            "name",
            "description",
            "is_public",
            "is_default",
            "is_encrypted",
            "is_multiattach",
            "qos",
            "qos_per_gib",
            "min_gib",
            "max_gib",
            "pools",
            "kinds",
            "created_at",
            "updated_at",
        ]

    @extend_schema_field(serializers.ListField(child=serializers.CharField(), allow_null=True))
    def get_pools(self, volume_type: VolumeType) -> list[str] | None:
        """Names; null for others than administrators."""
        return list(volume_type.pools) if self.context["caller"].sees_all else None

    @extend_schema_field(serializers.ListField(child=serializers.CharField(), allow_null=True))
    def get_kinds(self, volume_type: VolumeType) -> list[str] | None:
        """Null for others than administrators."""
        return list(volume_type.kinds) if self.context["caller"].sees_all else None


class VolumeTypeProjectsOutput(serializers.Serializer[Any]):
    """The projects that may use a type which is not public."""

    projects = serializers.ListField(child=serializers.UUIDField())


class StoragePoolHostOutput(serializers.ModelSerializer[StoragePoolHost]):
    """A host that reaches the pool."""

    class Meta:
        model = StoragePoolHost
        fields = ["host", "problem", "reported_at"]


class StoragePoolChange(StrictInput):
    """What administrators say of a pool; the rest its hosts report."""

    is_enabled = serializers.BooleanField(required=False, help_text="One that is not gets no new volumes.")
    allocation_ratio = serializers.FloatField(required=False, help_text="How much is promised of each GiB.")
    reserved_gib = serializers.IntegerField(required=False, help_text="What is not promised to volumes.")


class StoragePoolOutput(serializers.ModelSerializer[StoragePool]):
    """A pool that volumes are in. `promised_gib` is what volumes and snapshots claim of it."""

    hosts = StoragePoolHostOutput(many=True, read_only=True)
    volumes = serializers.SerializerMethodField()
    promised_gib = serializers.SerializerMethodField()

    class Meta:
        model = StoragePool
        fields = [
            "id",
            "name",
            "kind",
            "host",
            "total_bytes",
            "free_bytes",
            "is_enabled",
            "allocation_ratio",
            "reserved_gib",
            "promised_gib",
            "volumes",
            "abilities",
            "lacks",
            "hosts",
            "reported_at",
            "created_at",
            "updated_at",
        ]

    def get_volumes(self, pool: StoragePool) -> int:
        """How many volumes are in it."""
        return int(getattr(pool, "volume_count", 0))

    def get_promised_gib(self, pool: StoragePool) -> int:
        """GiB."""
        return int(self.context["promised"].get(pool.pk, 0))
