"""What flavors may ask for as one thing: a profile of devices."""

from django.db import models

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed


class DeviceProfile(UuidKeyed, Timestamped):
    """API scope. `groups` is a list of objects as extra specs have them: PCI devices by alias, or virtual GPUs and the
    traits of who gives them.
    """

    name = models.CharField(
        max_length=255, unique=True, error_messages={"unique": "Another device profile has this name."}
    )
    description = models.CharField(max_length=255, blank=True)
    groups = JsonField(default=list)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
