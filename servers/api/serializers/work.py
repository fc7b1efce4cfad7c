"""Work as the API shows it."""

from typing import Any

from rest_framework import serializers

from controlplane.work.control import WorkStatus, host_of
from controlplane.work.models import Work


class WorkOutput(serializers.ModelSerializer[Work]):
    """A piece of work and its progress. The context has `statuses`: a WorkStatus by id."""

    host = serializers.SerializerMethodField(help_text="Whose agent does it; empty for the conductors.")
    error = serializers.SerializerMethodField(help_text="What the last attempt, or its end, said.")
    overdue = serializers.SerializerMethodField(help_text="Open, and past its deadline.")
    lapsed = serializers.SerializerMethodField(help_text="Running, but its owner's lease ran out.")
    actions = serializers.SerializerMethodField(help_text="What is possible now.")

    class Meta:
        model = Work
        fields = [
            "id",
            "kind",
            "subject",
            "queue",
            "host",
            "state",
            "attempt",
            "max_attempts",
            "step",
            "error",
            "lease_owner",
            "lease_until",
            "deadline_at",
            "overdue",
            "lapsed",
            "woken_at",
            "created_at",
            "started_at",
            "finished_at",
            "request_id",
            "actions",
        ]

    def _status(self, work: Work) -> WorkStatus:
        statuses: dict[Any, WorkStatus] = self.context["statuses"]
        return statuses[work.pk]

    def get_host(self, work: Work) -> str:
        """The queue of an agent names its host."""
        return host_of(work)

    def get_error(self, work: Work) -> str:
        """Empty where none is known."""
        return str(work.outcome.get("error", ""))

    def get_overdue(self, work: Work) -> bool:
        """By the database's clock."""
        return self._status(work).is_overdue

    def get_lapsed(self, work: Work) -> bool:
        """By the database's clock."""
        return self._status(work).is_lapsed

    def get_actions(self, work: Work) -> list[str]:
        """`retry` and `cancel`, as far as they would be taken."""
        return self._status(work).actions
