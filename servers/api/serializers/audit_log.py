"""Entries of the audit log as the API shows them."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from controlplane.audit_log.models import AuditLogEntry

OPERATORS_FACTS = frozenset({"host", "node", "hypervisor_hostname", "cell_id", "console_socket", "details"})
"""What members learn nowhere: on which machine something is."""


class AuditLogEntryOutput(serializers.ModelSerializer[AuditLogEntry]):
    """Who did what. `before` and `after` have what differs; null in `number` until the entry is in the chain."""

    class Meta:
        model = AuditLogEntry
        fields = [
            *("id", "occurred_at", "action", "result", "reason", "user_id", "user_name", "user_project_id", "door"),
            *("address", "request_id", "target_kind", "target_id", "target_name", "project_id", "before", "after"),
            *("number", "previous_hash", "hash"),
        ]

    def to_representation(self, instance: AuditLogEntry) -> dict[str, Any]:
        """Members see neither hosts nor from where somebody came, nor why another project's person was refused."""
        shown: dict[str, Any] = super().to_representation(instance)
        caller = self.context.get("caller")
        return shown if caller is None or caller.sees_all else for_members(shown)


def for_members(shown: Mapping[str, Any]) -> dict[str, Any]:
    """An entry without what only operators may know; its hash is over all of it, and so not for them either."""
    is_own = shown["user_project_id"] == shown["project_id"]
    hidden = {"address": "", "reason": shown["reason"] if is_own else "", "previous_hash": "", "hash": ""}
    facts = {
        side: {name: value for name, value in shown[side].items() if name not in OPERATORS_FACTS}
        for side in ("before", "after")
    }
    return {**shown, **hidden, **facts}
