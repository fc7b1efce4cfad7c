"""Small pieces of the pages about decisions: tones of outcomes, a shadow's sentence, parts, addresses of pages."""

from collections.abc import Iterable
from typing import Any

from django import template
from django.utils.translation import gettext

from controlplane.dashboard.templatetags.pages import amount, resource_name
from controlplane.dashboard.texts import fault_text
from controlplane.infra.reader_texts import said
from controlplane.kernel.texts import Phrase, gettext_noop, reread
from scheduling.decisions.selectors.host_record import percent

register = template.Library()

OUTCOME_TONES = {"selected": "good", "error": "warn"}
SHADOW_TONES = {"same": "good", "both_fail": "good", "would_succeed": "warn", "elsewhere": "warn"}
SHADOW_SENTENCES = {
    "same": gettext_noop("It would have chosen alike."),
    "both_fail": gettext_noop("It would have found no host either."),
    "would_fail": gettext_noop("It would have found no host."),
}
SHADOW_PAIRS = {
    "would_succeed": gettext_noop("It would have found a host: {shadow} instead of {decided}."),
    "elsewhere": gettext_noop("It would have chosen otherwise: {shadow} instead of {decided}."),
}
SHADOW_PAIRS_OF_MANY = {
    "would_succeed": gettext_noop(
        "It would have found a host for {moved} of {count} instances: {shadow} instead of {decided}."
    ),
    "elsewhere": gettext_noop(
        "It would have chosen otherwise for {moved} of {count} instances: {shadow} instead of {decided}."
    ),
}
SHADOW_OUTCOMES = (
    gettext_noop("Same"),
    gettext_noop("Elsewhere"),
    gettext_noop("Would Fail"),
    gettext_noop("Would Succeed"),
    gettext_noop("Both Fail"),
    gettext_noop("Error"),
)
"""As the choices of a shadow's result have them, for those who translate."""
CHANGE_KINDS = {"fleet": gettext_noop("fleet"), "policy": gettext_noop("policy"), "request": gettext_noop("request")}
NOTES = (
    gettext_noop("{name} is not required of hosts: there is no such trait"),
    gettext_noop("{key} of aggregate {name} is no number that can be used: {text}; the default counts"),
)

FILTER_TITLES = {
    "stage": gettext_noop("Refused by"),
    "reason": gettext_noop("Refused hosts for"),
    "host": gettext_noop("Chosen host"),
    "created_after": gettext_noop("From"),
    "created_before": gettext_noop("Until"),
    "request_id": gettext_noop("Request"),
    "subject": gettext_noop("Reservation"),
    "project_id": gettext_noop("Project"),
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
        return gettext("It could not run: %(error)s") % {"error": said(result.error)}
    pairs = SHADOW_PAIRS_OF_MANY if result.instance_count > 1 else SHADOW_PAIRS
    if result.outcome not in pairs:
        return gettext(SHADOW_SENTENCES[result.outcome]) if result.outcome in SHADOW_SENTENCES else ""
    return gettext(pairs[result.outcome]).format(
        moved=result.moved_count,
        count=result.instance_count,
        shadow=result.shadow_host or gettext("no host"),
        decided=result.decided_host or gettext("no host"),
    )


@register.filter
def verdict(text: Any) -> str:
    """A verdict of the scheduler, or another reason of a fault, which are kept in English, in the reader's language."""
    return fault_text(text)


@register.filter
def remark(text: str) -> str:
    """A remark of a decision about a setting, the same."""
    note = reread(text, NOTES)
    return note.sentence(gettext) if isinstance(note, Phrase) else note


@register.filter
def change_kinds(kinds: Iterable[str]) -> str:
    """Who has to change something: 'fleet, request'."""
    return ", ".join(gettext(CHANGE_KINDS.get(kind, kind)) for kind in kinds)


@register.filter
def lacks(found: Iterable[Any]) -> str:
    """What a host lacks: '2 vcpus, 4 GiB memory'."""
    return ", ".join(
        f"{amount(one.amount, one.resource_class)} {resource_name(one.resource_class).lower()}" for one in found
    )


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
    return gettext(FILTER_TITLES.get(name, name.replace("_", " ").capitalize()))
