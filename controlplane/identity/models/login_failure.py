"""Wrong passwords, counted."""

from django.db import models


class LoginFailure(models.Model):
    """Wrong passwords for one username from one address since the last success or the last pause."""

    username = models.CharField(max_length=150)
    address = models.CharField(max_length=64, blank=True)
    failures = models.PositiveIntegerField(default=0)
    last_failed_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["username", "address"],
                name="login_failure_once",
                violation_error_message="Failures of this username from this address are counted already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.failures} failed logins of {self.username} from {self.address}"
