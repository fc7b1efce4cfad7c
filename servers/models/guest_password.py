"""What a guest told of the password that it made for its owner."""

from django.db import models

from controlplane.infra.models import Timestamped


class GuestPassword(Timestamped):
    """Cell scope. Told once over the metadata service, as a rule encrypted for the owner's SSH key, which cannot be
    known here: so it is encrypted once more. The row goes when its owner clears it, or with the instance.
    """

    instance_uuid = models.UUIDField(unique=True)
    encrypted = models.TextField()

    def __str__(self) -> str:
        return str(self.instance_uuid)
