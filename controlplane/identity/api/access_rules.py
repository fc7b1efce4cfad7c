"""The access rules in force, to read: the file of the setting POLICY_FILE changes them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.policy import DEFAULT_RULES, AccessRule, rules_in_force


class AccessRuleOutput(serializers.Serializer[Any]):
    """One rule: any one of `roles` is enough in a project, or a role that includes it."""

    name = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField(), source="words")
    system_roles = serializers.ListField(
        child=serializers.CharField(),
        source="system_words",
        help_text="Of whoever calls in the system. None: it acts in a project.",
    )
    default_roles = serializers.SerializerMethodField()
    description = serializers.CharField()

    def get_default_roles(self, rule: AccessRule) -> list[str]:
        """As they are without a file."""
        return DEFAULT_RULES[rule.name].words


class AccessRulesView(APIView):
    """All of them. For admins."""

    policy = {"get": "access_rules:read"}

    @extend_schema(operation_id="access_rules", responses=AccessRuleOutput(many=True))
    def get(self, _request: Request) -> Response:
        """In the order of the document of rules."""
        return Response(AccessRuleOutput(rules_in_force(), many=True).data)
