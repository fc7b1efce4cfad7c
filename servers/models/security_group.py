"""Security groups and what they let through."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import Direction
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.models.tagged import Tagged


class SecurityGroup(UuidKeyed, Timestamped, Tagged):
    """API scope. Rules that only add: what none of a port's groups lets through does not pass."""

    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=255, blank=True)
    is_default = models.BooleanField(default=False, help_text=_("New ports of its project that name no group have it."))

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project"],
                condition=models.Q(is_default=True),
                name="security_group_one_default",
                violation_error_message="The project has a default group already.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class SecurityGroupRule(UuidKeyed, Timestamped):
    """API scope. `rule_key` is all that it says, as one text: no group has the same rule twice."""

    group = models.ForeignKey(SecurityGroup, on_delete=models.CASCADE, related_name="rules")
    description = models.CharField(max_length=255, blank=True)
    direction = models.CharField(max_length=8, choices=[(way.value, way.value) for way in Direction])
    ip_version = models.PositiveSmallIntegerField(choices=[(4, "IPv4"), (6, "IPv6")], default=4)
    protocol = models.CharField(max_length=16, blank=True)
    port_min = models.PositiveIntegerField(null=True, blank=True, help_text=_("Of ICMP: the type."))
    port_max = models.PositiveIntegerField(null=True, blank=True, help_text=_("Of ICMP: the code."))
    remote_cidr = models.CharField(max_length=49, blank=True)
    names_anywhere = models.BooleanField(
        default=False, help_text=_("It was written with the range of all addresses, which says no more than none.")
    )
    remote_group = models.ForeignKey(
        SecurityGroup, null=True, blank=True, on_delete=models.CASCADE, related_name="named_by"
    )
    rule_key = models.CharField(max_length=200)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "rule_key"],
                name="security_group_rule_once",
                violation_error_message="The group has this rule already.",
            )
        ]

    def __str__(self) -> str:
        return self.rule_key
