"""A public key that is put into a user's instances."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped


class KeyPair(Timestamped):
    """Belongs to a user, not to a project. The private half is never stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=255)
    public_key = models.TextField()
    given_text = models.TextField(
        blank=True,
        help_text=_("What was sent, where it has more than the key, such as a line's end: clients compare it."),
    )
    fingerprint = models.CharField(max_length=64, help_text=_("MD5 of the key, as pairs separated by colons."))
    type = models.CharField(max_length=10, choices=[("ssh", "ssh")], default="ssh")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"],
                name="keypair_user_name",
                violation_error_message="You have a key pair with this name already.",
            )
        ]

    def __str__(self) -> str:
        return self.name
