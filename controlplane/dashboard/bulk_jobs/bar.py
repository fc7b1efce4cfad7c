"""Lists whose rows can be ticked: what can be done to the ticked ones stands in a bar above the rows."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from controlplane.dashboard.lists.declaration import ListDeclaration
from controlplane.dashboard.lists.pages import list_response
from controlplane.identity.domain import Caller
from servers.bulk.domain import BulkKind
from servers.bulk.selectors import bulk_offers

BULK_BAR = "components/bulk_bar.html"


def bulk_list_response(
    request: HttpRequest, caller: Caller, declaration: ListDeclaration, kind: BulkKind, **context: Any
) -> HttpResponseBase:
    """The list, with boxes and bar for who may do something to many of its things."""
    offers = bulk_offers(caller, kind)
    shown = replace(declaration, bulk=BULK_BAR) if offers else declaration
    return list_response(request, caller, shown, bulk_actions=offers, bulk_kind=kind.value, **context)
