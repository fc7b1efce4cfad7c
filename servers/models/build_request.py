"""An instance that has no row in a cell yet."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped
from servers.instances.domain.bodies import InstanceBody


class BuildRequest(Timestamped):
    """API scope. Serves GET until the instance's row is in its cell; deleting it before that cancels the build.

    `instance_body` is an `InstanceBody`. `vcpus` and `memory_mib` repeat the flavor, and `ports` the request, so that
    quota can be counted in one query.
    """

    instance_uuid = models.UUIDField(unique=True)
    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    user_id = models.UUIDField()
    reservation_id = models.UUIDField(db_index=True)
    batch_index = models.PositiveIntegerField(default=0, help_text=_("Place in its batch, from 0."))
    request_id = models.CharField(max_length=60, blank=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    instance_body = JsonField(help_text=_("The instance as the API shows it until its row exists."))
    ports = models.PositiveSmallIntegerField(default=0, help_text=_("To be made for it once it has a host."))
    decision_id = models.UUIDField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "created_at"], name="buildrequest_project")]

    @property
    def typed_body(self) -> InstanceBody:
        """`instance_body`, read."""
        return InstanceBody.from_dict(self.instance_body)

    def __str__(self) -> str:
        return str(self.instance_uuid)
