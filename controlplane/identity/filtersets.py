"""What lists of identity can be narrowed by."""

from django.db.models import Q

from controlplane.identity.models import GroupMember, GroupRole, Project, RoleAssignment, SavedView, User, UserGroup
from controlplane.infra.list_filters import ListFilterSet
from controlplane.infra.quick_search import QuickSearch


class ProjectFilterSet(QuickSearch):
    """By any attribute, exact name, part of the name, enabled."""

    search_fields = ("name", "description")

    class Meta:
        model = Project
        fields = {"name": ["exact", "icontains"], "enabled": ["exact"]}

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the names of those who have a role in it."""
        named = RoleAssignment.objects.filter(user__username__icontains=word)
        return super().condition_of(word) | Q(pk__in=named.values("project_id"))


class UserFilterSet(QuickSearch):
    """By any attribute, exact name, part of the name, active, superuser."""

    search_fields = ("username", "email")

    class Meta:
        model = User
        fields = {"username": ["exact", "icontains"], "is_active": ["exact"], "is_superuser": ["exact"]}

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the projects in which it has a role, and by these roles."""
        held = RoleAssignment.objects.filter(Q(project__name__icontains=word) | Q(role__iexact=word))
        return super().condition_of(word) | Q(pk__in=held.values("user_id"))


class GroupFilterSet(QuickSearch):
    """By any attribute, exact name, part of the name."""

    search_fields = ("name", "description")

    class Meta:
        model = UserGroup
        fields = {"name": ["exact", "icontains"]}

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by members, and by the projects in which it has a role."""
        named = GroupMember.objects.filter(user__username__icontains=word)
        held = GroupRole.objects.filter(Q(project__name__icontains=word) | Q(role__iexact=word))
        ids = Q(pk__in=named.values("group_id")) | Q(pk__in=held.values("group_id"))
        return super().condition_of(word) | ids


class RoleAssignmentFilterSet(ListFilterSet):
    """By user, project and role."""

    class Meta:
        model = RoleAssignment
        fields = ["user", "project", "role"]


class SavedViewFilterSet(ListFilterSet):
    """By list, by part of the name, by who sees it."""

    class Meta:
        model = SavedView
        fields = {"list": ["exact"], "name": ["exact", "icontains"], "sharing": ["exact"], "is_default": ["exact"]}
