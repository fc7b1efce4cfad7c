"""Bulk jobs on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.bulk.domain import BULK_RULES, BulkItemState, BulkKind
from servers.bulk.selectors import BulkProgress
from servers.models import BulkJob, BulkJobItem

ACTION_NAMES = list(dict.fromkeys(name for rules in BULK_RULES.values() for name in rules))


class BulkJobInput(StrictInput):
    """What is to be done to which things: those named, or all that a list shows with these filters."""

    kind = serializers.ChoiceField(choices=[one.value for one in BulkKind], default=BulkKind.INSTANCE.value)
    action = serializers.ChoiceField(choices=ACTION_NAMES, help_text="One that there is for this kind.")
    ids = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        allow_empty=False,
        help_text="Ids of these things; of hosts those of their compute nodes.",
    )
    instances = serializers.ListField(
        child=serializers.UUIDField(), required=False, allow_empty=False, help_text="The same, of instances."
    )
    note = serializers.CharField(
        required=False, allow_blank=True, max_length=255, help_text="Why hosts are disabled: it stands with each."
    )
    filter = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=2000,
        help_text="A query of their list that chooses them, such as status=ERROR&tag=web for instances; empty for all.",
    )
    all_projects = serializers.BooleanField(default=False, help_text="With `filter`, of every project. Admins only.")
    confirm = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        help_text="How many things it concerns: needed for what destroys or interrupts.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of the ways to choose, and one that goes with the kind."""
        if sum(name in attrs for name in ("ids", "instances", "filter")) != 1:
            raise serializers.ValidationError({"ids": ["Give either ids, instances or a filter."]})
        if "instances" in attrs and attrs["kind"] != BulkKind.INSTANCE:
            raise serializers.ValidationError({"instances": ["They are instances, and the kind is another; give ids."]})
        if attrs["all_projects"] and "filter" not in attrs:
            raise serializers.ValidationError({"all_projects": ["It goes with a filter."]})
        return attrs


class BulkCounts(serializers.Serializer[BulkProgress]):
    """How many items are in which state."""

    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()


class BulkJobOutput(serializers.ModelSerializer[BulkJob]):
    """A job and how far it is. The context has `progress`: a BulkProgress by id."""

    state = serializers.SerializerMethodField(help_text="running, done, partly failed, failed or cancelled.")
    counts = serializers.SerializerMethodField()

    class Meta:
        model = BulkJob
        fields = [
            *(
                "id",
                "kind",
                "action",
                "note",
                "state",
                "counts",
                "item_count",
                "user_id",
                "user_name",
                "project_id",
                "request_id",
            ),
            *("created_at", "cancelled_at", "finished_at"),
        ]

    def _progress(self, job: BulkJob) -> BulkProgress:
        progress: dict[Any, BulkProgress] = self.context["progress"]
        return progress[job.pk]

    def get_state(self, job: BulkJob) -> str:
        """In one word or two."""
        return self._progress(job).state

    def get_counts(self, job: BulkJob) -> dict[str, int]:
        """By state."""
        return dict(BulkCounts(self._progress(job)).data)


class BulkItemOutput(serializers.ModelSerializer[BulkJobItem]):
    """What became of one thing; `subject` is its id."""

    state = serializers.ChoiceField(choices=[one.value for one in BulkItemState])

    class Meta:
        model = BulkJobItem
        fields = ["position", "subject", "name", "state", "reason", "tries", "action_id", "finished_at"]
