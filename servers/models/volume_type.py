"""What volumes users may choose between."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed


class VolumeType(UuidKeyed, Timestamped):
    """API scope. `pools` and `kinds` say where its volumes may be (empty: anywhere); `qos` is a `VolumeQos`, and
    `qos_per_gib` adds to its limits for each GiB of a volume.
    """

    name = models.CharField(max_length=255, unique=True)
    description = models.CharField(max_length=255, blank=True)
    is_public = models.BooleanField(default=True, help_text=_("All projects may use it."))
    is_default = models.BooleanField(default=False, help_text=_("Volumes that ask for no type have it."))
    pools = JsonField(default=list, blank=True, help_text=_("Names of pools."))
    kinds = JsonField(default=list, blank=True, help_text=_("Kinds of pools."))
    is_encrypted = models.BooleanField(default=False, help_text=_("Volumes are LUKS, each with a key of its own."))
    is_multiattach = models.BooleanField(default=False, help_text=_("Several instances may have one volume."))
    qos = JsonField(default=dict, blank=True)
    qos_per_gib = JsonField(default=dict, blank=True)
    min_gib = models.PositiveIntegerField(default=0, help_text=_("0: no limit."))
    max_gib = models.PositiveIntegerField(default=0, help_text=_("0: no limit."))

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=Q(is_default=True),
                name="volume_type_one_default",
                violation_error_message="Another type is the default already.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class VolumeTypeAccess(models.Model):
    """API scope. That a project may use a type that is not public."""

    volume_type = models.ForeignKey(VolumeType, on_delete=models.CASCADE, related_name="access")
    project = models.ForeignKey("identity.Project", on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["volume_type", "project"], name="volume_type_access_once")]

    def __str__(self) -> str:
        return f"{self.volume_type_id}: {self.project_id}"
