"""Aggregates and their hosts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ThroughServicesAdmin
from controlplane.infra.admin.filters import named, typed
from controlplane.infra.admin.pairs import KeyedTextField, KnownKey, Plain, vocabulary_of
from scheduling.fleet.domain.metadata_keys import METADATA_KEYS
from scheduling.fleet.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.models import Aggregate, AggregateHost

METADATA = vocabulary_of(
    [KnownKey(key, Plain(meaning), Plain(allowed)) for key, (meaning, allowed) in METADATA_KEYS.items()],
    "A key of your own: extra specs of flavors and properties of images may ask for it.",
)


class AggregateForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Name, metadata, and hosts as one list; saving calls services."""

    metadata = KeyedTextField(METADATA, help_text=_("To remove a key, empty its row."))
    hosts = forms.CharField(required=False, widget=forms.Textarea, help_text=_("Host names, one a line."))

    class Meta:
        model = Aggregate
        fields = ["name", "metadata"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            names = self.instance.members.order_by("host").values_list("host", flat=True)
            self.fields["hosts"].initial = "\n".join(names)

    def clean_hosts(self) -> set[str]:
        """As a set of names."""
        return set(str(self.cleaned_data["hosts"]).split())


@admin.register(Aggregate)
class AggregateAdmin(ThroughServicesAdmin):
    """Aggregates; every change goes through the services, so that zones stay sound and Placement in step."""

    form = AggregateForm
    list_display = ["name", "availability_zone", "hosts_in_it", "created_at"]
    search_fields = ["name", "id", "members__host"]
    list_filter = ["created_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Aggregate]:
        """With the number of hosts."""
        rows: QuerySet[Aggregate] = super().get_queryset(request)
        return rows.annotate(host_count=Count("members"))

    @admin.display(description=_("hosts"), ordering="host_count")
    def hosts_in_it(self, aggregate: Aggregate) -> int:
        """How many hosts are in it."""
        return int(getattr(aggregate, "host_count", 0))

    def save_model(self, request: HttpRequest, obj: Aggregate, form: AggregateForm, change: bool) -> None:
        """Name, metadata and hosts: all of it, or, when one part is refused, nothing."""
        name, metadata = form.cleaned_data["name"], form.cleaned_data["metadata"] or {}
        if change:
            present = Aggregate.objects.get(pk=obj.pk)
            gone = dict.fromkeys(set(present.metadata) - set(metadata))
            aggregate_update(aggregate_id=obj.pk, name=name, metadata={**gone, **metadata})
        else:
            obj.pk = aggregate_create(name=name, metadata=metadata).pk
            obj._state.adding = False
        _hosts_set(obj, form.cleaned_data["hosts"])

    def service_delete(self, obj: Aggregate) -> None:
        """Through the service, which refuses while it has hosts."""
        aggregate_delete(aggregate_id=obj.pk)


def _hosts_set(aggregate: Aggregate, wanted: set[str]) -> None:
    present = set(AggregateHost.objects.filter(aggregate_id=aggregate.pk).values_list("host", flat=True))
    for host in sorted(present - wanted):
        aggregate_host_remove(aggregate_id=aggregate.pk, host=host)
    for host in sorted(wanted - present):
        aggregate_host_add(aggregate_id=aggregate.pk, host=host)


@admin.register(AggregateHost)
class AggregateHostAdmin(ReadOnlyAdmin):
    """Memberships; edit them at the aggregate."""

    list_display = ["aggregate", "host"]
    list_select_related = ["aggregate"]
    list_filter = [named("aggregate"), typed("host")]
    search_fields = ["host", "aggregate__name"]
