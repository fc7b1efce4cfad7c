"""Lists as people want to find them again."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.identity.domain.saved_view import NAME_MAX, QUERY_MAX, Sharing, list_choices
from controlplane.identity.models.project import Project
from controlplane.infra.models import Timestamped, UuidKeyed


class SavedView(UuidKeyed, Timestamped):
    """Filters, order and columns of a list, as the query of its address, under a name.

    Others see it as `sharing` says: those who work in `project`, or everybody. What they see in it is what they may
    see in the list. A list opens with its owner's default view.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="saved_views", help_text=_("Where it was made, and is shared.")
    )
    list = models.CharField(max_length=30, choices=list_choices)
    name = models.CharField(max_length=NAME_MAX)
    query = models.CharField(max_length=QUERY_MAX, blank=True, help_text=_("As in the address of the list."))
    sharing = models.CharField(
        max_length=10, choices=[(one.value, one.value) for one in Sharing], default=Sharing.PRIVATE.value
    )
    is_default = models.BooleanField(default=False, help_text=_("The list opens with it, for its owner."))

    class Meta:
        ordering = ["list", "name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "list", "name"],
                name="saved_view_once_per_name",
                violation_error_message="You have a view of this name for this list already.",
            ),
            models.UniqueConstraint(
                fields=["user", "list"],
                condition=models.Q(is_default=True),
                name="saved_view_one_default",
                violation_error_message="The list has a default view already.",
            ),
        ]
        indexes = [models.Index(fields=["list", "sharing"], name="saved_view_shared")]

    def __str__(self) -> str:
        return self.name

    @property
    def id_text(self) -> str:
        """As addresses have it."""
        return str(self.pk)
