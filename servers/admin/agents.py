"""Agents of hypervisors in the admin: who has a secret since when, and the enrolments that were made."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.infra.admin.confirmation import destructive
from controlplane.kernel.texts import gettext_noop
from servers.agent_api.credentials import credential_revoke
from servers.models import AgentCredential, AgentEnrolment


@admin.register(AgentCredential)
class AgentCredentialAdmin(ReadOnlyAdmin):
    """Secrets by host: never themselves, only what became of them."""

    list_display = ["host", "enrolled_at", "rotated_at", "revoked_at", "refused_version"]
    list_filter = ["enrolled_at", "revoked_at", "refused_at"]
    search_fields = ["host"]
    fields = ["host", "enrolled_at", "rotated_at", "revoked_at", "revoked_by_id", "refused_version", "refused_at"]
    actions = ["revoke"]

    @destructive(
        description=gettext_noop("Revoke selected secrets"),
        permissions=["operate"],
        question=gettext_noop(
            "The agents of these hosts are locked out at once. Guests go on; the hosts may be enrolled again."
        ),
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[AgentCredential]) -> None:
        """Lock the agents out."""
        user_id: Any = request.user.pk

        def one(row: AgentCredential) -> None:
            credential_revoke(host=row.host, user_id=user_id)

        run_on_each(self, request, queryset, one, said=gettext_noop("%(count)s revoked."))


@admin.register(AgentEnrolment)
class AgentEnrolmentAdmin(ReadOnlyAdmin):
    """Tokens that were made, for whom, by whom, and whether they were used."""

    list_display = ["host", "created_at", "expires_at", "used_at", "created_by_id"]
    list_filter = ["created_at"]
    search_fields = ["host"]
    fields = ["host", "created_at", "created_by_id", "expires_at", "used_at"]
