"""Which user has which role in which project."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.identity.domain import Role
from controlplane.identity.models.project import Project
from controlplane.infra.models import Timestamped, UuidKeyed


class RoleAssignment(UuidKeyed, Timestamped):
    """One role of one user in one project. It is read anew for each request, so taking it away works at once."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="role_assignments")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="role_assignments")
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])
    by_group = models.BooleanField(
        default=False, editable=False, help_text=_("Given by a group outside, and taken away when the user leaves it.")
    )

    class Meta:
        ordering = ["project__name", "user__username", "role"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "project", "role"],
                name="role_assignment_once",
                violation_error_message="The user has this role in this project already.",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]),
                name="role_assignment_known_role",
                violation_error_message="There is no such role.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} in {self.project}"
