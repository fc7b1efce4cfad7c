"""Volume types, edited through the service; pools, of which hosts report what they are."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import BooleanField, JSONField, ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.infra.admin.filters import named
from controlplane.infra.admin.pairs import NumbersField
from controlplane.kernel.texts import gettext_noop
from servers.admin.known_keys import QOS
from servers.admin.network_rows import WithWhatIsInIt, changed_only, texts_of
from servers.models import StoragePool, StoragePoolHost, VolumeType, VolumeTypeAccess
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.services.pool_edits import pool_delete, pool_update
from servers.volumes.services.types import (
    volume_type_access_add,
    volume_type_access_remove,
    volume_type_create,
    volume_type_delete,
    volume_type_update,
)

TYPE_FIELDS = [
    "name",
    "description",
    "is_public",
    "is_encrypted",
    "is_multiattach",
    "pools",
    "kinds",
    "qos",
    "qos_per_gib",
    "min_gib",
    "max_gib",
]
LISTS = ("pools", "kinds")
POOL_CHANGES = ["is_enabled", "allocation_ratio", "reserved_gib"]


class VolumeTypeRowForm(ModelForm[VolumeType]):
    """The rules are the service's, which shows its reasons at the fields."""

    pools = JSONField(required=False, help_text=_('Names of pools, such as ["ceph"]; empty: any.'))
    kinds = JSONField(required=False, help_text=_('Kinds of pools, such as ["rbd"]; empty: any.'))
    qos = NumbersField(QOS, help_text=_("Limits per second. To remove one, empty its row."))
    qos_per_gib = NumbersField(QOS, help_text=_("What each GiB of a volume adds to them."))
    # Not the model's field: that only one is the default is what the service sees to, by moving it.
    make_default = BooleanField(required=False, help_text=_("Volumes that ask for no type get this one."))

    class Meta:
        model = VolumeType
        fields = TYPE_FIELDS

    def validate_constraints(self) -> None:
        """The service says it."""

    def validate_unique(self) -> None:
        """The service says it."""


def typed(values: dict[str, Any]) -> dict[str, Any]:
    """Values of the form as the service takes them. Raises InvalidFields."""
    for name in LISTS:
        if name in values:
            values[name] = texts_of(values[name], name)
    return values


class AccessInline(ReadOnlyInline):
    """The projects that may use a type which is not public."""

    model = VolumeTypeAccess
    fields = ["project"]


@admin.register(VolumeType)
class VolumeTypeAdmin(WithWhatIsInIt):
    """What users choose between."""

    form = VolumeTypeRowForm
    list_display = ["name", "is_public", "is_default", "is_encrypted", "is_multiattach", "min_gib", "max_gib"]
    list_filter = ["is_public", "is_default", "is_encrypted", "is_multiattach"]
    search_fields = ["id", "name", "description"]
    actions = ["make_default"]

    def get_inlines(self, request: HttpRequest, obj: VolumeType | None) -> list[Any]:
        """Access is given under its own heading."""
        return [AccessInline] if obj else []

    def save_model(self, request: HttpRequest, obj: VolumeType, form: Any, change: bool) -> None:
        default: dict[str, Any] = {"is_default": True} if form.cleaned_data["make_default"] else {}
        if change:
            volume_type_update(type_id=obj.pk, changes=typed(changed_only(form, TYPE_FIELDS)) | default)
            return
        values = typed({name: form.cleaned_data[name] for name in TYPE_FIELDS})
        volume_type_create(request=VolumeTypeRequest(id=obj.pk, **values, **default))

    def service_delete(self, obj: VolumeType) -> None:
        volume_type_delete(type_id=obj.pk)

    @admin.action(description=gettext_noop("Make the chosen type the default"), permissions=["operate"])
    def make_default(self, request: HttpRequest, queryset: QuerySet[VolumeType]) -> None:
        """One at a time: there is one default."""
        if queryset.count() != 1:
            self.message_user(request, gettext("Choose one type."), messages.WARNING)
            return
        run_on_each(
            self, request, queryset, lambda one: volume_type_update(type_id=one.pk, changes={"is_default": True})
        )


@admin.register(VolumeTypeAccess)
class VolumeTypeAccessAdmin(ThroughServicesAdmin):
    """Which project may use which type that is not public."""

    fields = ["volume_type", "project"]
    list_display = ["volume_type", "project"]
    list_filter = [named("volume_type"), named("project")]
    list_select_related = ["volume_type", "project"]
    search_fields = ["volume_type__name", "project__name"]
    autocomplete_fields = ["volume_type", "project"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """It is given and taken."""
        return False

    def save_model(self, request: HttpRequest, obj: VolumeTypeAccess, form: Any, change: bool) -> None:
        volume_type_access_add(type_id=obj.volume_type_id, project_id=obj.project_id)
        obj.pk = VolumeTypeAccess.objects.get(volume_type=obj.volume_type_id, project=obj.project_id).pk

    def service_delete(self, obj: VolumeTypeAccess) -> None:
        volume_type_access_remove(type_id=obj.volume_type_id, project_id=obj.project_id)


class PoolHostInline(ReadOnlyInline):
    """The hosts that reach the pool."""

    model = StoragePoolHost
    fields = ["host", "problem", "reported_at"]


@admin.register(StoragePool)
class StoragePoolAdmin(WithWhatIsInIt):
    """Pools that hosts report. Whether they get new volumes, and how much of them is promised, is said here."""

    list_display = [
        "name",
        "host",
        "kind",
        "total_bytes",
        "free_bytes",
        "is_enabled",
        "allocation_ratio",
        "reported_at",
    ]
    list_filter = ["kind", "is_enabled"]
    search_fields = ["id", "name", "host", "identity"]
    fields = [*POOL_CHANGES, "name", "host", "kind", "identity", "total_bytes", "free_bytes", "abilities", "lacks"]
    readonly_fields = ["name", "host", "kind", "identity", "total_bytes", "free_bytes", "abilities", "lacks"]
    inlines = [PoolHostInline]
    actions = ["enable", "disable"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Hosts report them."""
        return False

    def save_model(self, request: HttpRequest, obj: StoragePool, form: Any, change: bool) -> None:
        pool_update(pool_id=obj.pk, changes=changed_only(form, POOL_CHANGES))

    def service_delete(self, obj: StoragePool) -> None:
        pool_delete(pool_id=obj.pk)

    @admin.action(description=gettext_noop("Let the chosen pools have new volumes"), permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[StoragePool]) -> None:
        self._enable(request, queryset, is_enabled=True)

    @admin.action(description=gettext_noop("Let the chosen pools have no new volumes"), permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[StoragePool]) -> None:
        self._enable(request, queryset, is_enabled=False)

    def _enable(self, request: HttpRequest, queryset: QuerySet[StoragePool], *, is_enabled: bool) -> None:
        run_on_each(
            self, request, queryset, lambda one: pool_update(pool_id=one.pk, changes={"is_enabled": is_enabled})
        )


@admin.register(StoragePoolHost)
class StoragePoolHostAdmin(ReadOnlyAdmin):
    """Which host reaches which pool, and why it cannot use it now."""

    list_display = ["host", "pool", "problem", "reported_at"]
    list_filter = [named("pool")]
    list_select_related = ["pool"]
    search_fields = ["host", "pool__name", "problem"]
