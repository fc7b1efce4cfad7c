"""The entries of the audit log, and where their chain begins and ends."""

from typing import Any, NoReturn

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from controlplane.audit_log.entry_hash import NO_HASH
from controlplane.infra.json_field import JsonField


class AuditResult(models.TextChoices):
    """`refused`: by a rule, a role or a state; nothing was changed."""

    DONE = "done"
    REFUSED = "refused"


class AuditLogEntry(models.Model):
    """One change that somebody asked for. It is written once; the chain fills its last three fields, once.

    `before` and `after` have the fields that differ; of what is new or gone, all. `project_id` is whose it is: empty
    for what belongs to the installation.
    """

    occurred_at = models.DateTimeField(db_default=Now(), editable=False)
    action = models.CharField(max_length=60, help_text=_("Kind and verb: instance.stop, flavor.update."))
    result = models.CharField(max_length=10, choices=AuditResult, default=AuditResult.DONE)
    reason = models.TextField(blank=True, help_text=_("Why it was refused."))
    user_id = models.UUIDField(null=True, blank=True)
    user_name = models.CharField(max_length=200, blank=True)
    user_project_id = models.UUIDField(null=True, blank=True, help_text=_("The project that the person acted in."))
    door = models.CharField(max_length=20, help_text=_("page, api, openstack, admin, command, bulk, agent or system."))
    address = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=60, blank=True)
    target_kind = models.CharField(max_length=40, blank=True)
    target_id = models.CharField(max_length=255, blank=True)
    target_name = models.CharField(max_length=255, blank=True)
    project_id = models.UUIDField(null=True, blank=True)
    before = JsonField(default=dict, blank=True)
    after = JsonField(default=dict, blank=True)
    number = models.PositiveBigIntegerField(null=True, blank=True, unique=True, help_text=_("Its place in the chain."))
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = "audit log entry"
        verbose_name_plural = "audit log"
        indexes = [
            models.Index(fields=["target_kind", "target_id", "-id"], name="audit_log_target"),
            models.Index(fields=["project_id", "-id"], name="audit_log_project"),
            models.Index(fields=["user_id", "-id"], name="audit_log_user"),
            models.Index(fields=["action", "-id"], name="audit_log_action"),
            models.Index(fields=["request_id"], name="audit_log_request"),
            models.Index(fields=["occurred_at"], name="audit_log_time"),
            # The chain takes what is not in it yet, which is little among much.
            models.Index(fields=["id"], condition=models.Q(number__isnull=True), name="audit_log_unchained"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target_name or self.target_id}".strip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Only new rows: an entry is never changed."""
        if not self._state.adding:
            _refuse()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Retention removes old entries, in order; nobody removes one."""
        _refuse()


class AuditLogChain(models.Model):
    """The two ends of the chain, in one row whose lock lets one process at a time extend or shorten it.

    `pruned_number` and `pruned_hash` are those of the last entry that retention removed.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    head_number = models.PositiveBigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, default=NO_HASH)
    pruned_number = models.PositiveBigIntegerField(default=0)
    pruned_hash = models.CharField(max_length=64, default=NO_HASH)

    class Meta:
        verbose_name = "audit log chain"

    def __str__(self) -> str:
        return f"entries {self.pruned_number + 1} to {self.head_number}"


def _refuse() -> NoReturn:
    raise TypeError("Entries of the audit log are only appended.")
