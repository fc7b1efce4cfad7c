"""What an instance is given for its first boot and nobody may read afterwards."""

from django.db import models

from controlplane.infra.models import Timestamped


class FirstBootData(Timestamped):
    """API scope. The administrator's password and injected files of an instance that does not run yet.

    `encrypted` is text that only `servers.instances.services.first_boot` reads. The row goes when the guest runs for
    the first time, or with the instance.
    """

    instance_uuid = models.UUIDField(unique=True)
    encrypted = models.TextField()

    def __str__(self) -> str:
        return str(self.instance_uuid)
