"""Pages of instances, consoles and images say nothing of their own in English to a Chinese reader."""

import html
import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from django.utils.translation import gettext, override

from controlplane.identity.domain import Caller
from servers.instances.actions.table import VERBS
from servers.models import Image
from tests.worlds.cloud import People, active, create, flavor, pump

CHINESE = {"accept-language": "zh-CN,zh;q=0.9"}
MARKED = re.compile(r"<(script|style|pre|code|textarea)\b.*?</\1>|<(\w+)[^>]*\bmono\b[^>]*>.*?</\2>", re.DOTALL)
READ_OUT = re.compile(r"\b(?:title|aria-label|placeholder|alt)=\"([^\"]*)\"")
ENGLISH = re.compile(r"(?:\b[A-Za-z][a-z']+[,;:]? ){2,}[a-z]+\b")
"""Three words or more."""
OF_OTHERS = (
    r" 之一",  # the names that a key may have
)
"""Sentences of parts that other pages have, too: they are looked for there."""


def _english(page: str) -> Iterator[str]:
    """What is left of English sentences between the tags of a page, and in attributes that are read out."""
    main = MARKED.sub("", page[page.find("<main") :])
    for text in [*READ_OUT.findall(main), *re.split(r"<[^>]*>", main)]:
        words = html.unescape(" ".join(text.split()))
        if ENGLISH.search(words) and not any(re.search(one, words) for one in OF_OTHERS):
            yield words


@pytest.mark.django_db
def test_nothing_of_their_own_is_english(people: People, as_person: Callable[[Caller], Client]) -> None:
    runs = active(people.member, "web")
    flavor("huge", root_gib=5000)
    unplaced = create(people.member, "big", flavor="huge")[0]
    pump()
    image = Image.objects.get()
    image.properties = {"hw_disk_bus": "virtio", "hw_qemu_guest_agent": "yes"}
    image.save()
    queued = Image.objects.create(name="new", project_id=people.member.project_id, status="queued", visibility="shared")
    it, lost = f"/instances/{runs.pk}/", f"/instances/{unplaced.pk}/"
    paths = ["/instances/", "/instances/create/", "/consoles/", it, lost, f"{lost}next/", f"{lost}again/"]
    paths += [f"{it}{page}/" for page in ("edit", "delete", "rebuild", "rescue", "reset", "console")]
    paths += [f"{it}{page}/" for page in ("console/vnc", "console/serial", "screenshot", "diagnostics")]
    # One action for each kind of argument: the form of the others is made in the same way.
    paths += [f"{it}act/{name}/" for name, rule in VERBS.items() if len(rule.arguments) > 1 or name == "detach_volume"]
    paths += ["/images/", "/images/new/", "/images/catalogue/", f"/images/{image.pk}/", f"/images/{queued.pk}/"]
    paths += [f"/images/{image.pk}/edit/"]
    admin, left = as_person(people.admin), {}
    for path in paths:
        answer = admin.get(path, headers=CHINESE)
        assert answer.status_code == 200, path
        assert re.search("[\u4e00-\u9fff]", answer.text), path
        if found := list(dict.fromkeys(_english(answer.text))):
            left[path] = found
    assert left == {}


def test_every_action_is_called_something_in_chinese() -> None:
    with override("zh-hans"):
        for rule in VERBS.values():
            texts = [rule.title, rule.doing, rule.help, rule.loss, rule.group, *(one.title for one in rule.steps)]
            texts += [*(one.help for one in rule.arguments), rule.bulk.question if rule.bulk else ""]
            left = [text for text in texts if text and gettext(text) == text]
            assert left == [], rule.name
