"""Groups of users, and the roles that members have by them."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.identity.domain import Role
from controlplane.identity.models.project import Project
from controlplane.infra.models import Timestamped, UuidKeyed


class UserGroup(UuidKeyed, Timestamped):
    """Users who share roles: who is a member has them, and has them no longer once the membership ends.

    Not Django's groups, which hand out permissions of the Django admin, nor those of a directory or provider.
    """

    name = models.CharField(
        max_length=64, unique=True, error_messages={"unique": "A group with this name exists already."}
    )
    description = models.CharField(max_length=255, blank=True)

    class Meta:
        ordering = ["name"]
        verbose_name = "group"

    def __str__(self) -> str:
        return self.name


class GroupMember(UuidKeyed, Timestamped):
    """One user in one group."""

    group = models.ForeignKey(UserGroup, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="group_memberships")

    class Meta:
        ordering = ["group__name", "user__username"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "group"],
                name="group_member_once",
                violation_error_message="The user is in this group already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} is in {self.group}"


class GroupRole(UuidKeyed, Timestamped):
    """One role of all members of a group, in one project; without a project, in the system."""

    group = models.ForeignKey(UserGroup, on_delete=models.CASCADE, related_name="roles")
    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="group_roles",
        null=True,
        blank=True,
        help_text=_("Empty: the role is held in the system, not in a project."),
    )
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])

    class Meta:
        ordering = ["group__name", "project__name", "role"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "group", "role"],
                name="group_role_once",
                violation_error_message="The group has this role in this project already.",
            ),
            models.UniqueConstraint(
                fields=["group", "role"],
                condition=models.Q(project=None),
                name="group_system_role_once",
                violation_error_message="The group has this role in the system already.",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]),
                name="group_role_known_role",
                violation_error_message="There is no such role.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group} is {self.role} in {self.project or 'the system'}"
