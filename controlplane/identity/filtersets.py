"""What lists of identity can be narrowed by."""

import django_filters

from controlplane.identity.models import Project, RoleAssignment, User


class ProjectFilterSet(django_filters.FilterSet):
    """By exact name, part of the name, enabled."""

    class Meta:
        model = Project
        fields = {"name": ["exact", "icontains"], "enabled": ["exact"]}


class UserFilterSet(django_filters.FilterSet):
    """By exact name, part of the name, active, superuser."""

    class Meta:
        model = User
        fields = {"username": ["exact", "icontains"], "is_active": ["exact"], "is_superuser": ["exact"]}


class RoleAssignmentFilterSet(django_filters.FilterSet):
    """By user, project and role."""

    class Meta:
        model = RoleAssignment
        fields = ["user", "project", "role"]
