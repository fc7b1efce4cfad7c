"""What a host's agent is told with one piece of work and nobody else may read: a password."""

from django.db import models


class WorkSecret(models.Model):
    """Encrypted (`controlplane.infra.secret_encryption`). The row goes as soon as its work ends."""

    work_id = models.UUIDField(primary_key=True)
    instance_uuid = models.UUIDField(db_index=True)
    sealed = models.TextField()

    def __str__(self) -> str:
        return str(self.work_id)
