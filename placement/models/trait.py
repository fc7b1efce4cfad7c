"""Traits: qualities that a provider has or lacks."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from placement.domain.names import CUSTOM_PREFIX, TraitOwner
from placement.models.provider import ResourceProvider
from placement.models.resource_class import name_validator


class Trait(models.Model):
    """HW_CPU_X86_AVX2, COMPUTE_STATUS_DISABLED, ... from the standard catalogue, and custom ones (CUSTOM_*)."""

    name = models.CharField(
        max_length=255,
        unique=True,
        validators=[name_validator],
        error_messages={"unique": "There is a trait of this name already."},
    )
    is_reported = models.BooleanField(
        default=False,
        editable=False,
        help_text=_("Only reports of hosts made it and have it: it goes with the last provider that has it."),
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_custom(self) -> bool:
        """Whether operators or drivers made it."""
        return self.name.startswith(CUSTOM_PREFIX)


class ProviderTrait(models.Model):
    """A provider has a trait; `owner` says who put it there, so that a driver's report leaves others' alone."""

    provider = models.ForeignKey(ResourceProvider, on_delete=models.CASCADE, related_name="trait_rows")
    trait = models.ForeignKey(Trait, on_delete=models.PROTECT, related_name="provider_rows")
    owner = models.CharField(
        max_length=10, choices=[(owner.value, owner.value) for owner in TraitOwner], default=TraitOwner.OPERATOR.value
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "trait"],
                name="provider_trait_once",
                violation_error_message="The provider has this trait already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.trait_id} of {self.provider_id}"
