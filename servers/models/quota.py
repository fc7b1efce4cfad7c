"""One row per project that creates of that project line up on."""

from django.db import models


class ProjectQuotaLock(models.Model):
    """Updating the row holds its lock until the transaction ends, on every database; `taken` counts how often."""

    project = models.OneToOneField("identity.Project", on_delete=models.CASCADE, primary_key=True, related_name="+")
    taken = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.pk)
