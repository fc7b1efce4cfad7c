"""A flavor: the size of an instance and what it asks of a host."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed


class Flavor(UuidKeyed, Timestamped):
    """A size on offer. Instances keep a snapshot, so an edit never changes what runs.

    A flavor that is not public is for admins, and for projects that were given it. A disabled one takes no new
    instances but still explains old ones.
    """

    name = models.CharField(
        max_length=255, unique=True, error_messages={"unique": "A flavor with this name exists already."}
    )
    given_id = models.CharField(
        max_length=255,
        null=True,
        blank=True,
        unique=True,
        editable=False,
        help_text=_("What OpenStack's clients call it, where it was made with an id that is no uuid."),
    )
    description = models.CharField(max_length=1000, blank=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField(help_text=_("Memory in MiB."))
    root_gib = models.PositiveIntegerField(
        default=0, help_text=_("Root disk in GiB; 0 means the image's own size; such a flavor is for admins.")
    )
    ephemeral_gib = models.PositiveIntegerField(default=0, help_text=_("A second, empty disk in GiB."))
    swap_mib = models.PositiveIntegerField(default=0, help_text=_("A swap disk in MiB."))
    rxtx_factor = models.FloatField(default=1.0, help_text=_("Kept for clients that read it; it changes nothing."))
    is_public = models.BooleanField(default=True)
    disabled = models.BooleanField(default=False, help_text=_("Takes no new instances."))
    extra_specs = JsonField(default=dict, blank=True, help_text=_("What scheduling asks for: key -> text."))

    class Meta:
        ordering = ["memory_mib", "vcpus", "name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(vcpus__gte=1),
                name="flavor_vcpus_at_least_1",
                violation_error_message="A flavor has at least 1 vCPU.",
            ),
            models.CheckConstraint(
                condition=models.Q(memory_mib__gte=1),
                name="flavor_memory_at_least_1",
                violation_error_message="A flavor has at least 1 MiB of memory.",
            ),
        ]

    @property
    def wire_id(self) -> str:
        """Its id as OpenStack's clients know it."""
        return self.given_id or str(self.pk)

    def __str__(self) -> str:
        return self.name


class FlavorAccess(models.Model):
    """API scope. That a project may use a flavor that is not public."""

    flavor = models.ForeignKey(Flavor, on_delete=models.CASCADE, related_name="access")
    project = models.ForeignKey("identity.Project", on_delete=models.CASCADE, related_name="+")

    class Meta:
        verbose_name_plural = "flavor access"
        constraints = [models.UniqueConstraint(fields=["flavor", "project"], name="flavor_access_once")]

    def __str__(self) -> str:
        return f"{self.flavor_id}: {self.project_id}"
