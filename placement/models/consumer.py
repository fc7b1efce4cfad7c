"""Consumers: whoever holds allocations."""

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped


class Consumer(Timestamped):
    """An instance, a migration, a build request: known here by uuid only. It exists exactly while it holds something.

    `uuid` being unique is what lets one consumer claim only once. Project and user are text, because Placement's
    clients may send any; ours are uuids.
    """

    uuid = models.UUIDField(unique=True, error_messages={"unique": "This consumer holds allocations already."})
    project_id = models.CharField(max_length=255)
    user_id = models.CharField(max_length=255)
    # Empty (not text): its client, older than microversion 1.38, never said.
    consumer_type = models.CharField(  # noqa: DJ001 - "" is no type, and None is what the API shows as unknown
        max_length=255,
        null=True,
        blank=True,
        default=None,
        validators=[RegexValidator(r"^[A-Z0-9_]+$", "Use capital letters, digits and underscores only.")],
    )
    # Whoever made it over the Placement API frees it as well; only claims of our own scheduler are swept.
    by_client = models.BooleanField(default=False, db_default=False, help_text=_("Made over the Placement API."))
    generation = models.BigIntegerField(
        default=1, help_text=_("1 at first; one more with each change of what it holds.")
    )

    class Meta:
        ordering = ["uuid"]
        indexes = [models.Index(fields=["project_id", "user_id"], name="consumer_project_user")]

    def __str__(self) -> str:
        return f"{self.consumer_type or 'consumer'} {self.uuid}"
