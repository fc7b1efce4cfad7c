"""Resource classes: kinds of things that can be counted."""

from django.core.validators import RegexValidator
from django.db import models

from placement.domain.names import CUSTOM_PREFIX, NAME

name_validator = RegexValidator(NAME, "Use capital letters, digits and underscores only.")


class ResourceClass(models.Model):
    """VCPU, MEMORY_MB, DISK_GB, ... from the standard catalogue, and custom ones (CUSTOM_*)."""

    name = models.CharField(
        max_length=255,
        unique=True,
        validators=[name_validator],
        error_messages={"unique": "There is a resource class of this name already."},
    )

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "resource classes"

    def __str__(self) -> str:
        return self.name

    @property
    def is_custom(self) -> bool:
        """Whether operators or drivers made it."""
        return self.name.startswith(CUSTOM_PREFIX)
