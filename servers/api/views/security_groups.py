"""Security groups of the caller's project, and their rules."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.security_groups import (
    SecurityGroupChangeInput,
    SecurityGroupInput,
    SecurityGroupOutput,
    SecurityGroupRuleInput,
    SecurityGroupRuleOutput,
)
from servers.api.views.tags import TaggedViewSet
from servers.filtersets_network import SecurityGroupFilterSet, SecurityGroupRuleFilterSet
from servers.models import SecurityGroup, SecurityGroupRule
from servers.networks.selectors.groups import group_get, groups_with_rules, rule_get, rules_visible
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.groups import (
    DEFAULT_GROUP,
    default_group_make,
    security_group_create,
    security_group_delete,
    security_group_update,
)
from servers.networks.services.rules import security_group_rule_create, security_group_rule_delete

_SHOW_DEFAULT: tuple[dict[str, str], ...] = ({}, {"name": DEFAULT_GROUP}, {"is_default": "true"})
"""Filters with which a default group that was made now would be in the list."""


class SecurityGroupViewSet(TaggedViewSet, ReadOnlyModelViewSet[SecurityGroup]):
    """What is let through to and from ports. What no rule of a port's groups lets through does not pass."""

    policy = {
        "list": "security_groups:read",
        "retrieve": "security_groups:read",
        "create": "security_groups:write",
        "partial_update": "security_groups:write",
        "destroy": "security_groups:write",
        "tag": "security_groups:write",
        "tag_remove": "security_groups:write",
    }
    tagged_kind = TaggedKind.SECURITY_GROUP
    thing = "Security group"
    queryset = SecurityGroup.objects.none()
    serializer_class = SecurityGroupOutput
    filterset_class = SecurityGroupFilterSet
    ordering_fields = ["name", "created_at"]

    def get_queryset(self) -> QuerySet[SecurityGroup]:
        """What the caller may see."""
        return groups_with_rules(caller=caller_of(self.request))

    def get_object(self) -> SecurityGroup:
        """The one that the address names."""
        return group_get(caller=caller_of(self.request), group_id=uuid_in_path(self.kwargs["pk"], what=self.thing))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Those of the caller's project, its default group among them; all for an administrator."""
        answer = super().list(request, *args, **kwargs)
        filters = {
            name: said for name, said in request.query_params.items() if name in self.filterset_class.base_filters
        }
        if filters not in _SHOW_DEFAULT:
            return answer
        project_id = caller_of(request).own_project_id
        shown = any(one["is_default"] and str(one["project"]) == str(project_id) for one in answer.data["results"])
        if not shown and default_group_make(project_id=project_id):
            answer = super().list(request, *args, **kwargs)
        return answer

    @extend_schema(request=SecurityGroupInput, responses={201: SecurityGroupOutput})
    def create(self, request: Request) -> Response:
        """Makes a group that lets everything out and nothing in."""
        body = SecurityGroupInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields, caller = dict(body.validated_data), caller_of(request)
        fields["project_id"] = fields.pop("project", None)
        made = self.made(fields.pop("tags", None), lambda: security_group_create(caller=caller, **fields))
        return Response(SecurityGroupOutput(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=SecurityGroupChangeInput, responses=SecurityGroupOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes name, description or tags; rules come and go by themselves."""
        body = SecurityGroupChangeInput(data=request.data)
        body.is_valid(raise_exception=True)
        caller, group_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        group = self.changed(
            dict(body.validated_data),
            lambda changes: security_group_update(caller=caller, group_id=group_id, changes=changes),
        )
        return Response(SecurityGroupOutput(group).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes a group that no port is in."""
        security_group_delete(caller=caller_of(request), group_id=uuid_in_path(pk, what=self.thing))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SecurityGroupRuleViewSet(ReadOnlyModelViewSet[SecurityGroupRule]):
    """Each lets something through. None is ever changed: delete it and add another."""

    policy = {
        "list": "security_groups:read",
        "retrieve": "security_groups:read",
        "create": "security_groups:write",
        "destroy": "security_groups:write",
    }
    queryset = SecurityGroupRule.objects.none()
    serializer_class = SecurityGroupRuleOutput
    filterset_class = SecurityGroupRuleFilterSet
    ordering_fields = ["created_at"]

    def get_queryset(self) -> QuerySet[SecurityGroupRule]:
        """What the caller may see."""
        return rules_visible(caller=caller_of(self.request))

    def get_object(self) -> SecurityGroupRule:
        """The one that the address names."""
        rule_id = uuid_in_path(self.kwargs["pk"], what="Security group rule")
        return rule_get(caller=caller_of(self.request), rule_id=rule_id)

    @extend_schema(request=SecurityGroupRuleInput, responses={201: SecurityGroupRuleOutput})
    def create(self, request: Request) -> Response:
        """Adds a rule to a group."""
        body = SecurityGroupRuleInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = security_group_rule_create(
            caller=caller_of(request), group_id=body.validated_data["group"], rule=body.rule()
        )
        return Response(SecurityGroupRuleOutput(made).data, status=status.HTTP_201_CREATED)

    def destroy(self, request: Request, pk: str) -> Response:
        """Takes it away: what it alone let through is cut."""
        security_group_rule_delete(caller=caller_of(request), rule_id=uuid_in_path(pk, what="Security group rule"))
        return Response(status=status.HTTP_204_NO_CONTENT)
