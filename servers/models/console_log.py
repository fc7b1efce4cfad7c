"""The end of an instance's serial log, so that reading it does not need its host."""

from django.db import models

CONSOLE_LOG_MAX_BYTES = 64 * 1024


class ConsoleLog(models.Model):
    """At most CONSOLE_LOG_MAX_BYTES of it, replaced as the agent sends it."""

    instance_uuid = models.UUIDField(primary_key=True)
    output = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return str(self.instance_uuid)
