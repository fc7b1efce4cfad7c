"""Abstract bases: uuid keys and timestamps."""

import uuid

from django.db import models


class UuidKeyed(models.Model):
    """A row named by a random UUID."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    class Meta:
        abstract = True


class Timestamped(models.Model):
    """Knows when it was made and last saved. `QuerySet.update` does not touch `updated_at`; services set it."""

    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
