"""Wrong passwords, counted, and the addresses that right ones came from."""

from django.conf import settings
from django.db import models

from controlplane.identity.domain.throttle import Bucket


class LoginFailure(models.Model):
    """Wrong passwords of one bucket since the last pause. A bucket leaves empty what it does not go by.

    A try is counted before its password is checked, and taken back when that was right.
    """

    bucket = models.CharField(
        max_length=8, choices=[(bucket.value, bucket.value) for bucket in Bucket], default=Bucket.PAIR.value
    )
    username = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=64, blank=True)
    failures = models.PositiveIntegerField(default=0)
    last_failed_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["bucket", "username", "address"],
                name="login_failure_once",
                violation_error_message="Failures of this username from this address are counted already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.failures} failed logins of {self.username or 'anybody'} from {self.address or 'anywhere'}"


class KnownAddress(models.Model):
    """An address from which a user logged in lately: failures of strangers do not count against it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="known_addresses")
    address = models.CharField(max_length=64, blank=True)
    last_login_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "address"],
                name="known_address_once",
                violation_error_message="The user is known at this address already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} from {self.address}"
