"""What is to be done with a device of an instance when its turn comes."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField


class WaitingAction(models.Model):
    """Cell scope. The action begins when those before it have ended, in the order of ids, in the transaction of their
    end. Its port or volume is the instance's, or leaves it, from the request on.
    """

    id = models.BigAutoField(primary_key=True)
    instance_uuid = models.UUIDField(db_index=True)
    action = models.CharField(max_length=40, help_text=_("A row of the table of actions."))
    arguments = JsonField(default=dict, blank=True, help_text=_("What its host is told with the work."))
    user_id = models.UUIDField(null=True, blank=True, help_text=_("Who asked for it."))
    request_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.action} of {self.instance_uuid}"
