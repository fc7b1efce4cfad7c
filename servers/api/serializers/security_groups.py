"""Security groups and their rules on the wire."""

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.api.serializers.tags import TagsField, TagsInput
from servers.models import SecurityGroup, SecurityGroupRule
from servers.networks.domain.rules import RuleRequest
from servers.networks.selectors.groups import sentence_of_row


class SecurityGroupInput(TagsInput):
    """A new group; its ports may send to anywhere and receive nothing, until it has rules."""

    name = serializers.CharField(trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    project = serializers.UUIDField(required=False, help_text="Admins: of another project.")


class SecurityGroupChangeInput(TagsInput):
    """What changes of a group."""

    name = serializers.CharField(required=False, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class InstanceGroupInput(StrictInput):
    """A group of the instance's project."""

    group = serializers.CharField(help_text="Its id, or its name where no other has it.")


class SecurityGroupRuleInput(StrictInput):
    """A new rule. Neither `remote_cidr` nor `remote_group`: from or to anywhere."""

    group = serializers.UUIDField()
    direction = serializers.CharField(help_text="ingress or egress, seen from the guest.")
    ip_version = serializers.IntegerField(required=False, default=4)
    protocol = serializers.CharField(required=False, allow_blank=True, help_text="A name or a number; empty: any.")
    port_min = serializers.IntegerField(required=False, allow_null=True, help_text="Of ICMP: the type.")
    port_max = serializers.IntegerField(required=False, allow_null=True, help_text="Of ICMP: the code.")
    remote_cidr = serializers.CharField(required=False, allow_blank=True, help_text="Such as 10.0.0.0/8.")
    remote_group = serializers.UUIDField(required=False, allow_null=True, help_text="Of the same project.")
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)

    def rule(self) -> RuleRequest:
        """What is asked for, once the body is valid."""
        values = {name: value for name, value in self.validated_data.items() if name not in ("group", "remote_group")}
        return RuleRequest(**values, remote_group_id=self.validated_data.get("remote_group"))


class SecurityGroupRuleOutput(serializers.ModelSerializer[SecurityGroupRule]):
    """A rule, with the sentence that says it."""

    sentence = serializers.SerializerMethodField()

    class Meta:
        model = SecurityGroupRule
        fields = [
            "id",
            "group",
            "direction",
            "ip_version",
            "protocol",
            "port_min",
            "port_max",
            "remote_cidr",
            "remote_group",
            "description",
            "sentence",
            "created_at",
        ]

    def get_sentence(self, row: SecurityGroupRule) -> str:
        """Such as `Lets in TCP port 22 from 10.0.0.0/8.`"""
        return sentence_of_row(row)


class SecurityGroupOutput(serializers.ModelSerializer[SecurityGroup]):
    """A group with its rules."""

    rules = SecurityGroupRuleOutput(many=True)
    tags = TagsField(read_only=True)

    class Meta:
        model = SecurityGroup
        fields = ["id", "name", "description", "project", "is_default", "tags", "rules", "created_at", "updated_at"]
