"""What has tags."""

from django.db import models
from django.utils.translation import gettext_lazy as _

import controlplane.infra.json_lists  # noqa: F401 - the lookup by which lists find them
from controlplane.infra.json_field import JsonField


class Tagged(models.Model):
    """Its owner puts words on it, by which lists find it; they have no effect otherwise."""

    tags = JsonField(default=list, blank=True, editable=False, help_text=_("Words of its owner, sorted."))

    class Meta:
        abstract = True
