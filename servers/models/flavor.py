"""A flavor: the size of an instance and what it asks of a host."""

from django.db import models

from controlplane.infra.models import Timestamped, UuidKeyed


class Flavor(UuidKeyed, Timestamped):
    """A size on offer. Instances keep a snapshot, so an edit never changes what runs.

    A flavor that is not public is for admins. A disabled one takes no new instances but still explains old ones.
    """

    name = models.CharField(
        max_length=255, unique=True, error_messages={"unique": "A flavor with this name exists already."}
    )
    description = models.CharField(max_length=1000, blank=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField(help_text="Memory in MiB.")
    root_gib = models.PositiveIntegerField(
        default=0, help_text="Root disk in GiB; 0 means the image's own size; such a flavor is for admins."
    )
    ephemeral_gib = models.PositiveIntegerField(default=0, help_text="A second, empty disk in GiB.")
    swap_mib = models.PositiveIntegerField(default=0, help_text="A swap disk in MiB.")
    rxtx_factor = models.FloatField(default=1.0, help_text="Kept for clients that read it; it changes nothing.")
    is_public = models.BooleanField(default=True)
    disabled = models.BooleanField(default=False, help_text="Takes no new instances.")
    extra_specs = models.JSONField(default=dict, blank=True, help_text="What scheduling asks for: key -> text.")

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

    def __str__(self) -> str:
        return self.name
