"""Small pieces of the pages about decisions: tones of outcomes, a shadow's sentence, parts, addresses of pages."""

from typing import Any

from django import template

from scheduling.decisions.selectors.host_record import percent

register = template.Library()

OUTCOME_TONES = {"selected": "good", "error": "warn"}
SHADOW_TONES = {"same": "good", "both_fail": "good", "would_succeed": "warn", "elsewhere": "warn"}
SHADOW_SENTENCES = {
    "same": "It would have chosen alike.",
    "both_fail": "It would have found no host either.",
    "would_fail": "It would have found no host.",
    "would_succeed": "It would have found a host",
    "elsewhere": "It would have chosen otherwise",
}

FILTER_TITLES = {
    "stage": "Refused by",
    "reason": "Refused hosts for",
    "host": "Chosen host",
    "created_after": "From",
    "created_before": "Until",
    "request_id": "Request",
    "subject": "Reservation",
    "project_id": "Project",
}


@register.filter
def outcome_tone(outcome: str) -> str:
    """The pill of a decision's outcome."""
    return OUTCOME_TONES.get(outcome, "bad")


@register.filter
def shadow_tone(outcome: str) -> str:
    """The pill of a shadow's run."""
    return SHADOW_TONES.get(outcome, "bad")


@register.filter
def shadow_sentence(result: Any) -> str:
    """What the shadow would have done, with hosts: for operators."""
    if result.error:
        return f"It could not run: {result.error}"
    notice = SHADOW_SENTENCES.get(result.outcome, "")
    if notice.endswith("."):
        return notice
    moved = f" for {result.moved_count} of {result.instance_count} instances" if result.instance_count > 1 else ""
    pair = f"{result.shadow_host or 'no host'} instead of {result.decided_host or 'no host'}"
    return f"{notice}{moved}: {pair}."


@register.filter
def part(share: float) -> str:
    """A part (0 to 1) as a percentage; what is not nothing never reads as nothing."""
    return percent(share)


@register.simple_tag(takes_context=True)
def page_address(context: template.RequestContext, param: str, number: int) -> str:
    """This address with another page of one of its lists."""
    query = context.request.GET.copy()
    query[param] = str(number)
    return f"?{query.urlencode()}"


@register.filter
def filter_title(name: str) -> str:
    """What the page calls a filter of the API."""
    return FILTER_TITLES.get(name, name.replace("_", " ").capitalize())
