"""What was asked for, kept for as long as the instance lives, so that it can be scheduled again."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped
from servers.instances.domain.bodies import SpecBody


class RequestSpec(Timestamped):
    """API scope. `body` is a `SpecBody`."""

    instance_uuid = models.UUIDField(unique=True)
    reservation_id = models.UUIDField(db_index=True, help_text=_("Names the request that made a batch."))
    project_id = models.UUIDField(db_index=True)
    user_id = models.UUIDField()
    body = JsonField()

    class Meta:
        ordering = ["-created_at"]

    @property
    def typed_body(self) -> SpecBody:
        """`body`, read."""
        return SpecBody.from_dict(self.body)

    def __str__(self) -> str:
        return str(self.instance_uuid)
