"""Which image store is this installation's."""

import uuid

from django.db import models

ONLY = 1


class ImageStore(models.Model):
    """API scope. The one row of an installation: the id that the marker in its image store carries."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    marker = models.UUIDField(default=uuid.uuid4, editable=False)

    def __str__(self) -> str:
        return str(self.marker)
