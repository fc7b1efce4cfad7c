"""Addresses, members of security groups, and how far hosts and OVN are, to read and search."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import gettext_noop
from servers.models import (
    HostNetworkState,
    IPAllocation,
    OvnChange,
    OvnCheck,
    PortGroup,
)
from servers.networks.domain.names import OvnSubject
from servers.networks.services.ovn_changes import ovn_change_retry, ovn_whole_request


@admin.register(IPAllocation)
class IPAllocationAdmin(ReadOnlyAdmin):
    """Addresses that are taken."""

    list_display = ["address", "network", "port"]
    list_select_related = ["network", "port"]
    search_fields = ["address", "port__id"]


@admin.register(PortGroup)
class PortGroupAdmin(ReadOnlyAdmin):
    """Which port is in which security group."""

    list_display = ["port", "group"]
    list_select_related = ["port", "group"]
    search_fields = ["port__id", "group__id", "group__name"]


@admin.register(HostNetworkState)
class HostNetworkStateAdmin(ReadOnlyAdmin):
    """How far each host is with its networks."""

    list_display = ["host", "wanted_revision", "applied_revision", "applied_at"]
    search_fields = ["host"]


@admin.register(OvnCheck)
class OvnCheckAdmin(ReadOnlyAdmin):
    """The connection to OVN, and what differed there when all was compared last."""

    list_display = ["name", "is_connected", "problem", "changed_at", "checked_at", "took_s", "rows", "differed"]
    actions = ["compare"]

    @admin.action(description=gettext_noop("Compare everything now"), permissions=["operate"])
    def compare(self, request: HttpRequest, queryset: "QuerySet[OvnCheck]") -> None:
        """The conductor does it, and puts right what differs."""
        run_on_each(self, request, queryset, lambda _: ovn_whole_request(), said=gettext_noop("%(count)s accepted."))


@admin.register(OvnChange)
class OvnChangeAdmin(ReadOnlyAdmin):
    """What OVN has yet to be told; one with a problem was refused by it."""

    list_display = ["subject", "subject_id", "noted_at", "attempts", "retry_at", "problem"]
    list_filter = ["subject"]
    search_fields = ["subject_id", "problem"]
    actions = ["try_again"]

    @admin.action(description=gettext_noop("Tell OVN of it again now"), permissions=["operate"])
    def try_again(self, request: HttpRequest, queryset: "QuerySet[OvnChange]") -> None:
        """What waits for no refusal is told by itself."""

        def again(one: OvnChange) -> None:
            if not ovn_change_retry(subject=OvnSubject(one.subject), subject_id=one.subject_id):
                raise Conflict(gettext_noop("OVN has refused nothing of it; it is told by itself."))

        run_on_each(self, request, queryset, again, said=gettext_noop("%(count)s accepted."))
