"""Security groups, routers and floating addresses: made, changed and removed through the services."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import CharField
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyInline, run_on_each
from controlplane.infra.admin.confirmation import destructive
from controlplane.infra.admin.filters import named, typed
from controlplane.infra.admin.names import title_column
from controlplane.infra.admin.site import site_of
from controlplane.kernel.texts import gettext_noop
from servers.admin.bulk_jobs import bulk_admin_action
from servers.admin.network_pages import drawing_link
from servers.admin.network_rows import WithWhatIsInIt, changed_only
from servers.admin.routing_forms import (
    ROUTER_CHANGES,
    FloatingIPForm,
    RouterAdminForm,
    ServiceRules,
    TaggedRules,
    refused_at,
)
from servers.admin.tags import TagFilter, TaggedAdmin
from servers.bulk.domain import BulkKind
from servers.models import FloatingIP, Port, Router, SecurityGroup, SecurityGroupRule
from servers.networks.domain.rules import RuleRequest
from servers.networks.selectors.groups import sentence_of_row
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.floating_ips import (
    floating_ip_create,
    floating_ip_delete,
    floating_ip_disassociate,
    floating_ip_update,
)
from servers.networks.services.groups import security_group_create, security_group_delete, security_group_update
from servers.networks.services.router_hosts import router_move
from servers.networks.services.router_legs import router_interface_add, router_interface_remove
from servers.networks.services.routers import router_create, router_delete, router_update
from servers.networks.services.rules import security_group_rule_create, security_group_rule_delete

RULE_FIELDS = ["direction", "ip_version", "protocol", "port_min", "port_max", "remote_cidr", "description"]


class RuleInline(ReadOnlyInline):
    """What the group lets through."""

    model = SecurityGroupRule
    fk_name = "group"
    fields = ["sentence", "description"]
    readonly_fields = ["sentence"]
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> "QuerySet[SecurityGroupRule]":
        return super().get_queryset(request).select_related("remote_group")

    def sentence(self, row: SecurityGroupRule) -> str:
        """The rule in English."""
        return sentence_of_row(row)


@admin.register(SecurityGroup)
class SecurityGroupAdmin(TaggedAdmin, WithWhatIsInIt):
    """Security groups of projects."""

    form = TaggedRules
    tagged_kind = TaggedKind.SECURITY_GROUP
    fields = ["project", "name", "description", "tags"]
    list_display = ["name", "project", "is_default", "created_at"]
    list_filter = ["is_default", named("project"), TagFilter]
    list_select_related = ["project"]
    search_fields = ["id", "name", "project__name"]
    autocomplete_fields = ["project"]

    def get_inlines(self, request: HttpRequest, obj: SecurityGroup | None) -> list[Any]:
        """A new one has none yet."""
        return [RuleInline] if obj else []

    def get_readonly_fields(self, request: HttpRequest, obj: SecurityGroup | None = None) -> list[str]:
        """It stays with its project."""
        return [] if obj is None else ["project"]

    def save_model(self, request: HttpRequest, obj: SecurityGroup, form: Any, change: bool) -> None:
        if change:
            changes = changed_only(form, ["name", "description"])
            security_group_update(caller=None, group_id=obj.pk, changes=changes)
            return
        fields = {name: form.cleaned_data[name] for name in ("name", "description")}
        obj.pk = security_group_create(caller=None, project_id=obj.project_id, **fields).pk

    def service_delete(self, obj: SecurityGroup) -> None:
        security_group_delete(caller=None, group_id=obj.pk)


class SecurityRuleAdminForm(ServiceRules):
    """Ports and remotes may be left out."""

    protocol = CharField(required=False, max_length=16, help_text=_("A name or a number; empty: any."))

    class Meta:
        model = SecurityGroupRule
        fields = ["group", *RULE_FIELDS, "remote_group"]


@admin.register(SecurityGroupRule)
class SecurityGroupRuleAdmin(WithWhatIsInIt):
    """What security groups let through. None is ever changed: delete it and add another."""

    form = SecurityRuleAdminForm
    list_display = ["sentence", "group", "description", "created_at"]
    list_filter = ["direction", "ip_version", typed("protocol"), named("group")]
    list_select_related = ["group", "remote_group"]
    search_fields = ["id", "group__id", "group__name", "remote_cidr"]
    autocomplete_fields = ["group", "remote_group"]

    @admin.display(description=_("What it says"))
    def sentence(self, row: SecurityGroupRule) -> str:
        """The rule in English."""
        return sentence_of_row(row)

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Connections that it let through would be nobody's."""
        return False

    def save_model(self, request: HttpRequest, obj: SecurityGroupRule, form: Any, change: bool) -> None:
        said = {name: form.cleaned_data[name] for name in RULE_FIELDS}
        rule = RuleRequest(**said, remote_group_id=obj.remote_group_id)
        made = security_group_rule_create(caller=None, group_id=obj.group_id, rule=rule)
        obj.pk = made.pk

    def service_delete(self, obj: SecurityGroupRule) -> None:
        security_group_rule_delete(caller=None, rule_id=obj.pk)


class LegInline(ReadOnlyInline):
    """Its legs and its gateway."""

    model = Port
    fields = ["network", "owner", "mac", "addresses"]
    show_change_link = True


@admin.register(Router)
class RouterAdmin(TaggedAdmin, WithWhatIsInIt):
    """Routers with their legs, gateway and static routes, and the host that each lives on."""

    form = RouterAdminForm
    tagged_kind = TaggedKind.ROUTER
    list_display = [title_column(), "project", "external_network", "host", "problem", "is_enabled", "created_at"]
    list_filter = ["is_enabled", named("project"), TagFilter]
    list_select_related = ["project", "external_network"]
    search_fields = ["id", "name", "host", "project__name"]
    autocomplete_fields = ["project", "external_network"]
    actions = ["move_elsewhere"]

    @admin.display(description=_("Drawing"))
    def drawing(self, router: Router) -> SafeString | str:
        """On its page in the panel."""
        return drawing_link(site_of(self), router)

    def get_inlines(self, request: HttpRequest, obj: Router | None) -> list[Any]:
        """A new one has none."""
        return [LegInline] if obj else []

    def get_fields(self, request: HttpRequest, obj: Router | None = None) -> Any:
        """Legs, and routes over them, are of one that is there."""
        said = ["project", *ROUTER_CHANGES, "gateway_address"]
        if obj is not None:
            said += ["routes", "join_subnets", "join_ports", "leave_legs"]
        shown = ["drawing", "host", "host_reason", "problem"]
        return [*said, "tags", *(shown if obj is not None else shown[1:])]

    def get_readonly_fields(self, request: HttpRequest, obj: Router | None = None) -> list[str]:
        """Where it lives is chosen, and changed by the action."""
        chosen = ["drawing", "host", "host_reason", "problem"]
        return chosen if obj is None else ["project", *chosen]

    def save_model(self, request: HttpRequest, obj: Router, form: Any, change: bool) -> None:
        plain = [name for name in ROUTER_CHANGES if name != "external_network"]
        if not change:
            values = {name: form.cleaned_data[name] for name in plain}
            obj.pk = router_create(caller=None, project_id=obj.project_id, **values, **form.gateway()).pk
            return
        # New routes may go over new legs, and legs may go once no route needs them.
        for name, key in (("join_subnets", "subnet_id"), ("join_ports", "port_id")):
            for row in form.cleaned_data[name]:
                with refused_at(name):
                    router_interface_add(caller=None, router_id=obj.pk, **{key: row.pk})
        changes = {**changed_only(form, plain), **form.gateway()}
        if "routes" in form.changed_data:
            changes["routes"] = form.routes_asked()
        router_update(caller=None, router_id=obj.pk, changes=changes)
        for leg in form.cleaned_data["leave_legs"]:
            with refused_at("leave_legs"):
                router_interface_remove(caller=None, router_id=obj.pk, port_id=leg.pk)

    def service_delete(self, obj: Router) -> None:
        router_delete(caller=None, router_id=obj.pk)

    @destructive(
        description=gettext_noop("Move to another host"),
        permissions=["operate"],
        question=gettext_noop(
            "Each of these routers goes to the host that has the fewest others; connections that it keeps track of end."
        ),
    )
    def move_elsewhere(self, request: HttpRequest, queryset: "QuerySet[Router]") -> None:
        """Each to the host that has the fewest routers of the others; connections that it keeps track of end."""
        run_on_each(self, request, queryset, lambda one: router_move(caller=None, router_id=one.pk))


@admin.register(FloatingIP)
class FloatingIPAdmin(TaggedAdmin):
    """Outside addresses, and the ports that they stand for."""

    form = FloatingIPForm
    tagged_kind = TaggedKind.FLOATING_IP
    list_display = ["address", "project", "port", "fixed_address", "router", "status", "created_at"]
    list_filter = ["status", named("project"), TagFilter]
    list_select_related = ["project", "port", "router"]
    search_fields = ["id", "address", "fixed_address", "project__name"]
    autocomplete_fields = ["project", "network", "port"]
    actions = [
        "free",
        bulk_admin_action(
            BulkKind.FLOATING_IP, "release", name="release", description=gettext_noop("Give the chosen addresses back")
        ),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: FloatingIP | None = None) -> list[str]:
        """The address stays."""
        return [] if obj is None else ["project", "network", "address"]

    def save_model(self, request: HttpRequest, obj: FloatingIP, form: Any, change: bool) -> None:
        said, target = form.cleaned_data["description"], form.target()
        if change:
            floating_ip_update(caller=None, floating_ip_id=obj.pk, description=said, moves=form.moves, target=target)
            return
        project, network = form.cleaned_data["project"], form.cleaned_data["network"]
        obj.pk = floating_ip_create(
            caller=None,
            network_id=network.pk,
            address=form.cleaned_data["address"],
            description=said,
            project_id=project.pk,
            target=target,
        ).pk

    def service_delete(self, obj: FloatingIP) -> None:
        floating_ip_delete(caller=None, floating_ip_id=obj.pk)

    @destructive(
        description=gettext_noop("Let the chosen addresses stand for nothing"),
        permissions=["operate"],
        question=gettext_noop(
            "Nobody reaches what is behind these addresses from outside any more. They stay with their projects."
        ),
        word="free",
    )
    def free(self, request: HttpRequest, queryset: "QuerySet[FloatingIP]") -> None:
        """The addresses stay with their projects."""
        run_on_each(self, request, queryset, lambda one: floating_ip_disassociate(caller=None, floating_ip_id=one.pk))
