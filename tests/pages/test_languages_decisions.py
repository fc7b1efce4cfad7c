"""Pages of decisions, policies, hosts and simulations in Chinese: no English sentence of theirs is left."""

import html
import re
from collections.abc import Callable, Iterator

from django.test import Client

from controlplane.identity.domain import Caller
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulingDecision
from scheduling.policies.services.policies import policy_create, policy_shadow_start, policy_validate
from tests.worlds.cloud import People, active, create, flavor, host, pump

AsPerson = Callable[[Caller], Client]
CHINESE = {"accept-language": "zh-CN"}
HTMX = {"HX-Request": "true"}
# Names, codes and what is shown as it was written.
NOT_WORDS = r"<(script|style|code|pre|option|datalist)\b.*?</\1>|<(\w+) class=\"(?:[^\"]* )?(?:mono|raw)[ \"].*?</\2>"
# Parts that all pages have, with tests of their own: lists, the audit log's entries, the request as a command.
SHARED = r"<form class=\"(?:filters|list)[^\"]*\".*?</form>|<nav class=\"pages\".*?</nav>"
SHARED_TEXTS = re.compile(
    "curl|token of yours|my views|Save th|save it as|Every row|Filters that|Open the list|hosen$|chosen hosts$"
    "|changed it|dotted path|find the list|with the columns|Hosts looked at"
    "|Room in Placement|Services up and|Hosts asked for"
)
SENTENCE = re.compile(r"(?:[A-Za-z][\w'-]* +){2,}[A-Za-z][\w'-]*")


def english(page: str) -> Iterator[str]:
    """What reads like English in the page's own part, its labels and titles included."""
    found = re.search(r"<main\b.*?</main>", page, re.DOTALL)
    text = found.group(0) if found else page
    for pattern in (NOT_WORDS, SHARED):
        text = re.sub(pattern, "\n", text, flags=re.DOTALL)
    said = re.findall(r"(?:aria-label|placeholder)=\"([^\"]*)\"", text)
    for piece in [*said, *re.sub(r"<[^>]*>", "\n", text).splitlines()]:
        for one in SENTENCE.findall(html.unescape(piece)):
            if re.search("[a-z]", one) and not SHARED_TEXTS.search(one):
                yield one


def test_what_is_decided_and_why_is_said_in_the_readers_language(people: People, as_person: AsPerson) -> None:
    host("large", memory_mib=65536)
    placed = active(people.member)
    flavor("huge", root_gib=5000)
    create(people.member, flavor="huge")
    service_disable(host="h2", reason="x")
    create(people.member, flavor="huge")
    pump()
    policy = policy_create(body={"filters": ["ComputeFilter"]}, comment="x")
    policy_validate(policy_id=policy.pk)
    draft = policy_create(body={})
    policy_shadow_start(policy_id=policy.pk, share=1.0)
    chosen, refused = (SchedulingDecision.objects.filter(outcome=one).first() for one in ("selected", "no_valid_host"))
    assert placed.decision_id == chosen.pk
    client = as_person(people.admin)
    asked = [f"/decisions/{chosen.pk}/?host=h1", f"/decisions/{refused.pk}/?host=h2", "/decisions/"]
    asked += ["/hosts/", "/hosts/h1/", "/hosts/h2/", "/hosts/h1/room/", "/hosts/h2/remove/", "/hosts/add/"]
    asked += ["/hosts/map/", "/hosts/map/?view=table&flavor=huge", "/hosts/versions/", "/aggregates/", "/policies/"]
    asked += [f"/policies/{policy.pk}/{part}" for part in ("", "preview/?now=1", "batch/?run=1")]
    asked += [f"/policies/{draft.pk}/", f"/policies/{draft.pk}/edit/", "/simulate/?run=1&flavor="]
    asked += [f"/policies/compare/?new={policy.pk}", "/simulate/?run=1&host=h1", "/policies/compare/"]
    answers = {path: client.get(path, headers=CHINESE) for path in asked}
    for part in (f"/decisions/{refused.pk}/help/", f"/decisions/{chosen.pk}/replay/"):
        answers[part] = client.post(part, headers={**CHINESE, **HTMX})

    assert {path: answer.status_code for path, answer in answers.items() if answer.status_code != 200} == {}
    assert {path: left for path, answer in answers.items() if (left := sorted(set(english(answer.text))))} == {}
    assert "没有合适的主机" in answers["/decisions/"].text
    assert "需要 5,000 GiB" in answers[f"/decisions/{refused.pk}/?host=h2"].text
    assert SchedulingDecision.objects.get(pk=refused.pk).verdict.startswith("No host fits: ")
