"""Aggregates and their hosts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from controlplane.infra.admin.bases import ReadOnlyAdmin, ThroughServicesAdmin
from scheduling.fleet.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.models import Aggregate, AggregateHost


class AggregateForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Name, metadata, and hosts as one list; saving calls services."""

    hosts = forms.CharField(required=False, widget=forms.Textarea, help_text="Host names, one a line.")

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
    list_display = ["name", "availability_zone", "host_count", "created_at"]
    search_fields = ["name", "id", "members__host"]
    list_filter = ["created_at"]

    @admin.display(description="hosts")
    def host_count(self, aggregate: Aggregate) -> int:
        """How many hosts are in it."""
        return aggregate.members.count()

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
    list_filter = ["aggregate"]
    search_fields = ["host", "aggregate__name"]
