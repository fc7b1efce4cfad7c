"""A project with which an image is shared."""

from django.db import models

from controlplane.infra.models import Timestamped
from servers.images.domain.images import MemberStatus
from servers.models.image import Image


class ImageMember(Timestamped):
    """That `project` may use `image`, as long as that is shared; `status` is what the project itself said to it."""

    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="members")
    project = models.ForeignKey("identity.Project", on_delete=models.CASCADE, related_name="+")
    status = models.CharField(
        max_length=10, choices=[(s.value, s.value) for s in MemberStatus], default=MemberStatus.PENDING.value
    )

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["image", "project"],
                name="image_member_once",
                violation_error_message="The project is a member already.",
            ),
        ]
        indexes = [models.Index(fields=["project", "status"], name="image_member_project")]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.status}"
