"""One action that was asked for many things, and what became of each."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed
from controlplane.kernel.texts import Translate, gettext_noop, in_english
from servers.bulk.domain import BULK_RULES, NOUNS, BulkItemState, BulkKind, BulkRule


class BulkJob(UuidKeyed, Timestamped):
    """Who asked for what. It acts as this user in this project, with the roles that he has at that time."""

    kind = models.CharField(
        max_length=12,
        choices=[(one.value, one.value) for one in BulkKind],
        default=BulkKind.INSTANCE.value,
        help_text=_("What its items are."),
    )
    action = models.CharField(max_length=40)
    note = models.CharField(max_length=255, blank=True, help_text=_("What goes with the action, where it takes one."))
    user_id = models.UUIDField()
    user_name = models.CharField(max_length=150)
    project_id = models.UUIDField(help_text=_("The project that the user acts in."))
    request_id = models.CharField(max_length=60, db_index=True)
    address = models.CharField(max_length=64, blank=True)
    item_count = models.PositiveIntegerField()
    cancelled_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When no item was waiting or running any more.")
    )

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["user_id", "-created_at"], name="bulk_job_user"),
            models.Index(fields=["project_id"], condition=Q(finished_at__isnull=True), name="bulk_job_open"),
            models.Index(fields=["finished_at"], name="bulk_job_finished"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def rule(self) -> BulkRule:
        """What is done to each."""
        return BULK_RULES[BulkKind(self.kind)][self.action]

    @property
    def title(self) -> str:
        """'Delete 3 volumes'; of an action that this release does not know, its name."""
        return self.sentence()

    def sentence(self, translate: Translate = in_english) -> str:
        """The same in another language."""
        noun = NOUNS[BulkKind(self.kind)]
        rule = BULK_RULES[BulkKind(self.kind)].get(self.action)
        action = translate(rule.title) if rule else self.action
        things = noun.counted(self.item_count, translate)
        return translate(gettext_noop("{action} {things}")).format(action=action, things=things)


class BulkJobItem(models.Model):
    """One thing of a job: `subject` is its id. Of an instance, `action_id` is the instance action that was begun for
    it; its end is the item's.
    """

    job = models.ForeignKey(BulkJob, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    subject = models.UUIDField(help_text=_("The instance, host (its compute node), volume ..."))
    name = models.CharField(max_length=255, blank=True)
    state = models.CharField(
        max_length=10, choices=[(one.value, one.value) for one in BulkItemState], default=BulkItemState.WAITING.value
    )
    reason = models.TextField(blank=True)
    tries = models.PositiveIntegerField(default=0)
    action_id = models.BigIntegerField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["job", "position"]
        constraints = [
            models.UniqueConstraint(fields=["job", "subject"], name="bulk_job_subject_once"),
            models.UniqueConstraint(fields=["job", "position"], name="bulk_job_position"),
        ]
        indexes = [models.Index(fields=["id"], condition=Q(state="running"), name="bulk_item_running")]

    def __str__(self) -> str:
        return f"{self.name or self.subject} ({self.state})"
