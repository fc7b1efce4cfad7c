"""Instances that should be, or should not be, on one host."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.catalog.domain.groups import GroupPolicy


class ServerGroup(UuidKeyed, Timestamped):
    """A policy and its members. An instance joins when it is created and leaves when it is deleted."""

    name = models.CharField(max_length=255)
    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    user_id = models.UUIDField(help_text=_("Who made it."))
    policy = models.CharField(max_length=20, choices=[(p.value, p.value) for p in GroupPolicy])
    rules = JsonField(
        default=dict, blank=True, help_text=_("`max_server_per_host` with the policy anti-affinity; else empty.")
    )

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class ServerGroupMember(models.Model):
    """An instance is in at most one group."""

    group = models.ForeignKey(ServerGroup, on_delete=models.CASCADE, related_name="members")
    instance_uuid = models.UUIDField(
        unique=True, error_messages={"unique": "The instance is in a server group already."}
    )

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return str(self.instance_uuid)
