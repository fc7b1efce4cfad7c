"""The call that does what a page does, at its foot."""

from typing import Any

from django import template

from controlplane.dashboard.api_calls.form_calls import FORM_CALLS, form_calls, sent_of_form
from controlplane.dashboard.api_calls.page_calls import page_calls

register = template.Library()


@register.inclusion_tag("components/as_curl.html", takes_context=True)
def api_call_part(context: template.Context) -> dict[str, Any]:
    """Nothing where nobody is logged in, for a page that was refused, and where no call does the same."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    if request is None or match is None or not context.get("caller") or "error" in context:
        return {}
    name, kwargs = match.url_name or "", match.kwargs
    shown: dict[str, Any] = {"api": request.build_absolute_uri("/api")}
    if name in FORM_CALLS:
        form = context.get("form")
        sent = sent_of_form(form) if form is not None else {}
        calls = form_calls(name, kwargs, sent, is_admin=context["caller"].is_admin)
        return {**shown, "calls": calls, "of_form": request.path}
    declared = context.get("list")
    filters = declared.filterset(context["caller"]).base_filters if declared is not None else None
    is_admin = context["caller"].is_admin
    return {**shown, "calls": page_calls(name, kwargs, _asked(context, request), filters, is_admin=is_admin)}


def _asked(context: template.Context, request: Any) -> list[tuple[str, str]]:
    """Of a list what it shows, which may begin with filters that the address does not have."""
    query = context.get("query")
    if query is not None and hasattr(query, "asked"):
        return list(query.asked.items())
    return [(name, text) for name, texts in request.GET.lists() for text in texts]
