"""The page of access rules: who may do what, as this web process was started. It changes nothing: a file does."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.pages import filter_text, page, show
from controlplane.identity.conf import identity_options
from controlplane.identity.domain import Caller
from controlplane.identity.policy import DEFAULT_RULES, rules_in_force


@require_safe
@page("access_rules:read")
def access_rules_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All of them, or those with the words of `?q=`; each with what it is without the operator's file."""
    search = filter_text(request, "q")
    words = search.lower().split()
    everything = rules_in_force()
    found = [
        (rule, DEFAULT_RULES[rule.name].words)
        for rule in everything
        if all(word in f"{rule.name} {rule.description} {' '.join(rule.words)}".lower() for word in words)
    ]
    context = {
        "rules": found,
        "count": len(everything),
        "changed": sum(not rule.is_default for rule in everything),
        "file": identity_options().policy_file,
        "search": search,
    }
    return show(request, caller, "dashboard/identity/access_rules.html", "access-rules", **context)
