"""Which users are known elsewhere."""

from django.conf import settings
from django.db import models

from controlplane.identity.domain.outside import Source
from controlplane.infra.models import Timestamped, UuidKeyed


class ExternalIdentity(UuidKeyed, Timestamped):
    """The person in a directory, or at an OpenID provider, that a user is: who has one has no password here.

    `ended_at`: the directory no longer had the person, and the user was switched off. `made_superuser`: by a group.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="external_identity")
    source = models.CharField(max_length=8, choices=[(one.value, one.value) for one in Source])
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    made_superuser = models.BooleanField(default=False)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["source", "issuer", "subject"]
        verbose_name_plural = "external identities"
        constraints = [
            models.UniqueConstraint(
                fields=["source", "issuer", "subject"],
                name="external_identity_once",
                violation_error_message="Another user is this person already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} from {self.source}"
