"""Which user has which role in the system."""

from django.conf import settings
from django.db import models

from controlplane.identity.domain import Role
from controlplane.infra.models import Timestamped, UuidKeyed


class SystemRole(UuidKeyed, Timestamped):
    """One role of one user in the system: in the installation as a whole, and in no project."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="system_roles")
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])

    class Meta:
        ordering = ["user__username", "role"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "role"],
                name="system_role_once",
                violation_error_message="The user has this role in the system already.",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]),
                name="system_role_known_role",
                violation_error_message="There is no such role.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} in the system"
