"""What lists of networks, ports, security groups, routers and floating addresses can be narrowed by."""

import uuid
from typing import ClassVar, TypeVar

import django_filters as filters
from django.db.models import Model, Q, QuerySet

from computeagent.protocol.networks import Direction, NetworkBackendKind
from controlplane.infra.list_filters import ListFilterSet, YesNoFilter
from controlplane.infra.quick_search import QuickSearch
from servers.models import (
    FloatingIP,
    Instance,
    IPAllocation,
    Network,
    OvnChange,
    Port,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    Subnet,
)
from servers.networks.domain.addresses import address_key, address_number
from servers.networks.domain.names import FloatingStatus, OvnSubject, PortOwner
from servers.networks.selectors.ports import PORT_STATUSES, in_status
from servers.networks.selectors.tags import has_all_tags, has_any_tag, tags_in

ROW = TypeVar("ROW", bound=Model)


class ByTags(ListFilterSet):
    """What has tags, by one of them, or by several with commas between."""

    tag = filters.CharFilter(method="of_tag", label="Tag that it has")
    tags = filters.CharFilter(method="of_tags", label="Tags that it has all of, with commas between")
    tags_any = filters.CharFilter(method="of_tags", label="Tags of which it has one at least")
    not_tags = filters.CharFilter(method="of_tags", label="Tags that it does not have all of")
    not_tags_any = filters.CharFilter(method="of_tags", label="Tags of which it has none")

    def of_tag(self, rows: QuerySet[ROW], _name: str, value: str) -> QuerySet[ROW]:
        """The very text, which may have commas."""
        return rows.filter(tags__holds=value)

    def of_tags(self, rows: QuerySet[ROW], name: str, value: str) -> QuerySet[ROW]:
        """As the Network API's filters of these names."""
        is_not, is_any = name.startswith("not_"), name.endswith("_any")
        found = (has_any_tag if is_any else has_all_tags)(tags_in([value]))
        return rows.filter(~found if is_not else found)


class NetworkFilterSet(ByTags, QuickSearch):
    """Networks by any attribute, by name, owner and kind, and by what they are for."""

    search_fields = ("name", "description")
    search_json = ("tags",)

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    project = filters.UUIDFilter(field_name="project_id")
    kind = filters.ChoiceFilter(choices=[(one.value, one.value) for one in NetworkBackendKind])

    class Meta:
        model = Network
        fields = ["name", "is_default", "is_shared", "is_external", "is_enabled"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the ranges of its subnets."""
        ranges = Subnet.objects.filter(Q(cidr__icontains=word) | Q(name__icontains=word))
        return super().condition_of(word) | Q(pk__in=ranges.values("network_id"))


class SubnetFilterSet(ByTags):
    """Subnets by name, network and range."""

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    project = filters.UUIDFilter(field_name="project_id")
    network = filters.UUIDFilter(field_name="network_id")

    class Meta:
        model = Subnet
        fields = ["name", "cidr", "ip_version", "has_dhcp"]


class PortFilterSet(ByTags, QuickSearch):
    """Ports by any attribute, by name, by what they connect, and by address."""

    search_fields: ClassVar[tuple[str, ...]] = ("name", "description", "mac", "network_name", "project__name")
    search_ids: ClassVar[tuple[str, ...]] = ("pk", "instance_uuid")
    search_json: ClassVar[tuple[str, ...]] = ("tags",)

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    project = filters.UUIDFilter(field_name="project_id")
    network = filters.UUIDFilter(field_name="network_id")
    subnet = filters.UUIDFilter(method="of_subnet", label="Subnet that it has an address of")
    address = filters.CharFilter(method="of_address", label="IP address that it has")
    instance = filters.UUIDFilter(field_name="instance_uuid")
    router = filters.UUIDFilter(field_name="router_id")
    security_group = filters.UUIDFilter(field_name="groups__id", label="Security group that it is in")
    owner = filters.ChoiceFilter(choices=[(one.value, one.value) for one in PortOwner if one.value])
    status = filters.ChoiceFilter(method="in_status", choices=[(one, one) for one in PORT_STATUSES])

    class Meta:
        model = Port
        fields = ["name", "mac", "has_security", "is_enabled"]

    def in_status(self, rows: QuerySet[Port], _name: str, value: str) -> QuerySet[Port]:
        """As it is shown."""
        return rows.filter(in_status([value]))

    def of_subnet(self, rows: QuerySet[Port], _name: str, value: uuid.UUID) -> QuerySet[Port]:
        """Each once, however many of its addresses are of the subnet."""
        return rows.filter(allocations__subnet=value).distinct()

    def of_address(self, rows: QuerySet[Port], _name: str, value: str) -> QuerySet[Port]:
        """Written in whatever way; what is no address, nobody has."""
        try:
            key = address_key(address_number(value))
        except ValueError:
            return rows.none()
        return rows.filter(allocations__address_key=key)

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by its addresses, and by the name of the instance or router that it is of."""
        taken = IPAllocation.objects.filter(address__istartswith=word)
        named = Instance.objects.filter(name__icontains=word, deleted_at__isnull=True)
        of_instance = Q(instance_uuid__in=named.values("pk"))
        return (
            super().condition_of(word)
            | Q(pk__in=taken.values("port_id"))
            | of_instance
            | Q(router__name__icontains=word)
        )


class OperatorPortFilterSet(PortFilterSet):
    """The same, and what only operators may ask: ?host="""

    search_fields = (*PortFilterSet.search_fields, "host")

    class Meta(PortFilterSet.Meta):
        fields = [*PortFilterSet.Meta.fields, "host"]


def port_filters(*, is_admin: bool) -> type[PortFilterSet]:
    """The filters that a caller may use: to a tenant the answer to `?host=` would tell where its instances run."""
    return OperatorPortFilterSet if is_admin else PortFilterSet


class SecurityGroupFilterSet(ByTags, QuickSearch):
    """Security groups by any attribute, by name, project, and by what is in them."""

    search_fields = ("name", "description", "project__name")
    search_json = ("tags",)

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    project = filters.UUIDFilter(field_name="project_id")
    port = filters.UUIDFilter(field_name="ports__id", label="Port that is in it")
    instance = filters.UUIDFilter(method="of_instance", label="Instance that has a port in it")

    class Meta:
        model = SecurityGroup
        fields = ["name", "is_default"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by what its rules say."""
        said = Q(description__icontains=word) | Q(remote_cidr__icontains=word) | Q(protocol__iexact=word)
        rules = SecurityGroupRule.objects.filter(said)
        return super().condition_of(word) | Q(pk__in=rules.values("group_id"))

    def of_instance(self, rows: QuerySet[SecurityGroup], _name: str, value: uuid.UUID) -> QuerySet[SecurityGroup]:
        """Each once, however many of the ports are in it."""
        return rows.filter(ports__instance_uuid=value).distinct()


class SecurityGroupRuleFilterSet(ListFilterSet):
    """Rules by their group and by what they say."""

    group = filters.UUIDFilter(field_name="group_id")
    remote_group = filters.UUIDFilter(field_name="remote_group_id")
    direction = filters.ChoiceFilter(choices=[(one.value, one.value) for one in Direction])

    class Meta:
        model = SecurityGroupRule
        fields = ["ip_version", "protocol", "remote_cidr"]


class RouterFilterSet(ByTags, QuickSearch):
    """Routers by any attribute, by name, project, and by what they join."""

    search_fields: ClassVar[tuple[str, ...]] = ("name", "description", "project__name", "external_network__name")
    search_json: ClassVar[tuple[str, ...]] = ("tags",)

    search = filters.CharFilter(field_name="name", lookup_expr="icontains", label="Name contains")
    project = filters.UUIDFilter(field_name="project_id")
    external_network = filters.UUIDFilter(field_name="external_network_id")
    network = filters.UUIDFilter(field_name="ports__network_id", distinct=True, label="Network that it joins")

    class Meta:
        model = Router
        fields = ["name", "is_enabled"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the networks that it joins, and by its addresses there."""
        joined = Q(network__name__icontains=word) | Q(allocations__address__istartswith=word)
        ports = Port.objects.filter(joined, router__isnull=False)
        return super().condition_of(word) | Q(pk__in=ports.values("router_id"))


class OperatorRouterFilterSet(RouterFilterSet):
    """The same, and what only operators may ask: ?host="""

    search_fields = (*RouterFilterSet.search_fields, "host")

    class Meta(RouterFilterSet.Meta):
        fields = [*RouterFilterSet.Meta.fields, "host"]


def router_filters(*, is_admin: bool) -> type[RouterFilterSet]:
    """The filters that a caller may use: on which host a router lives is for operators."""
    return OperatorRouterFilterSet if is_admin else RouterFilterSet


class FloatingIPFilterSet(ByTags, QuickSearch):
    """Floating addresses by any attribute, by address, by what they stand for, and by state."""

    search_fields = ("address", "fixed_address", "description", "network__name", "router__name", "project__name")
    search_json = ("tags",)

    project = filters.UUIDFilter(field_name="project_id")
    network = filters.UUIDFilter(field_name="network_id", label="External network")
    port = filters.UUIDFilter(field_name="port_id")
    router = filters.UUIDFilter(field_name="router_id")
    instance = filters.UUIDFilter(field_name="port__instance_uuid", label="Instance that it stands for")
    is_free = YesNoFilter(field_name="port", lookup_expr="isnull", label="Stands for nothing")
    status = filters.ChoiceFilter(choices=[(one.value, one.value) for one in FloatingStatus])

    class Meta:
        model = FloatingIP
        fields = ["address", "fixed_address"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the name of the instance that it leads to."""
        named = Instance.objects.filter(name__icontains=word, deleted_at__isnull=True)
        return super().condition_of(word) | Q(port__instance_uuid__in=named.values("pk"))


class OvnChangeFilterSet(ListFilterSet):
    """What OVN does not have yet, by what it is about."""

    subject = filters.ChoiceFilter(choices=[(one.value, one.value) for one in OvnSubject])
    is_refused = YesNoFilter(method="of_refusal", label="OVN has refused it")

    class Meta:
        model = OvnChange
        fields = ["subject_id"]

    def of_refusal(self, rows: QuerySet[OvnChange], name: str, value: bool) -> QuerySet[OvnChange]:
        """With a problem, or without."""
        del name
        return rows.exclude(problem="") if value else rows.filter(problem="")
