"""Console sessions in the admin: who looked at which guest, and ending those that are open."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.identity.api.callers import caller_of
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.infra.admin.confirmation import destructive
from controlplane.kernel.texts import gettext_noop
from servers.consoles.services import console_session_end
from servers.models import ConsoleSession


@admin.register(ConsoleSession)
class ConsoleSessionAdmin(ReadOnlyAdmin):
    """Sessions, never their tokens."""

    list_display = ["instance_name", "kind", "is_read_only", "user", "client_address", "opened_at", "ended_at"]
    list_filter = ["kind", "is_read_only", "opened_at", "ended_at"]
    list_select_related = ["user"]
    search_fields = ["id", "instance_uuid", "instance_name", "user__username", "host"]
    exclude = ["token_digest"]
    actions = ["revoke"]

    @destructive(
        description=gettext_noop("End selected sessions"),
        permissions=["operate"],
        question=gettext_noop("Their users are cut off within seconds. They may open others."),
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[ConsoleSession]) -> None:
        """Cut them off."""
        caller = caller_of(request)

        def one(row: ConsoleSession) -> None:
            console_session_end(caller=caller, session_id=row.pk)

        run_on_each(self, request, queryset, one, said=gettext_noop("%(count)s ended."))
