"""Second factors of users."""

from django.conf import settings
from django.db import models

from controlplane.infra.models import Timestamped, UuidKeyed


class SecondFactor(UuidKeyed, Timestamped):
    """The secret that a user's authenticator app shares, encrypted. It counts once a code of it was typed.

    `last_step` is the time step of the code used last: no code of it or before counts again.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    sealed_secret = models.TextField(editable=False)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    last_step = models.BigIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["user__username"]

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class RecoveryCode(UuidKeyed):
    """A code that stands in for the app once; then its row is gone. Only its SHA-256 is here."""

    factor = models.ForeignKey(SecondFactor, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["factor", "digest"],
                name="recovery_code_once",
                violation_error_message="This recovery code is there already.",
            )
        ]

    def __str__(self) -> str:
        return f"recovery code of {self.factor_id}"
