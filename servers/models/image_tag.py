"""A word that its owner put on an image."""

from django.db import models

from servers.models.image import Image


class ImageTag(models.Model):
    """API scope. Lists find images by it; it has no effect otherwise."""

    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=255)

    class Meta:
        ordering = ["tag"]
        constraints = [models.UniqueConstraint(fields=["image", "tag"], name="image_tag_once")]
        indexes = [models.Index(fields=["tag"], name="image_tag")]

    def __str__(self) -> str:
        return self.tag
