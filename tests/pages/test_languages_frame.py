"""The frame, the lists, the log-in and the pages of operators for a reader of Chinese."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import translation

from controlplane.dashboard.lists.things import NOUNS
from controlplane.dashboard.menu import MENU
from controlplane.dashboard.texts import translated
from controlplane.identity.domain import Caller
from controlplane.identity.domain.saved_view import LISTS
from controlplane.identity.models import SavedView
from scheduling.models import ComputeNode
from servers.bulk.domain import BulkKind
from servers.bulk.services.jobs import bulk_job_create
from servers.repair.services.drift import LOOKS, drift_check_run
from tests.pages.english_left import english_left
from tests.pages.test_drift_pages import orphan_guest
from tests.worlds.cloud import People, active, create, flavor, pump

CHINESE = {"accept-language": "zh-CN"}
PATHS = (
    "/",
    "/work/",
    "/work/?state=&columns=what,subject,state,request",
    "/drift/",
    "/heals/",
    "/bulk-jobs/",
    "/audit-log/?columns=when,who,action,target,result,reason,door,before,after",
    "/audit-log/?user=nobody&result=done",
    "/capacity/",
    "/capacity/?zone=nova&n1=1",
    "/settings/?only=set",
    "/views/",
    "/search/?q=web",
    "/search/?q=nosuchthing",
    "/keyboard/",
    "/nowhere/",
    "/theme/",
    "/work/?sort=nothing",
)


def test_no_english_sentence_is_left(people: People, as_person: Callable[[Caller], Client]) -> None:
    web = active(people.member, "web")
    active(people.member, "db")
    flavor("larger", memory_mib=40_000)
    create(people.member, "much", flavor="larger")
    create(people.member, "next")
    pump()
    orphan_guest()
    for name in LOOKS:
        drift_check_run(name)
    job = bulk_job_create(caller=people.admin, action="stop", kind=BulkKind.INSTANCE, ids=[web.pk], confirmed=1)
    SavedView.objects.create(user_id=people.admin.user_id, project_id=people.admin.project_id, list="work", name="w")

    admin, member = as_person(people.admin), as_person(people.member)
    left = {}
    for path in (*PATHS, f"/bulk-jobs/{job.pk}/"):
        page = admin.get(path, headers=CHINESE)
        assert page["Content-Language"] == "zh-hans", path
        left[path] = english_left(page.content.decode())
    asked = {"action": "disable", "kind": "host", "item": str(ComputeNode.objects.get(host="h1").pk)}
    left["confirm"] = english_left(admin.post("/bulk-jobs/new/", asked, headers=CHINESE).content.decode())
    left["member"] = english_left(member.get("/", headers=CHINESE).content.decode())
    left["refused"] = english_left(member.get("/settings/", headers=CHINESE).content.decode())
    left["login"] = english_left(Client().get("/login/", headers=CHINESE).content.decode())

    assert {path: texts for path, texts in left.items() if texts} == {}


def test_titles_of_lists_and_of_the_menu_are_translated() -> None:
    titles = [place.title for place in LISTS.values()]
    titles += [one.title for subject in MENU for one in (subject, *subject.pages)]
    with translation.override("zh-hans"):
        same = {text for text in (*titles, *(word for noun in NOUNS for word in noun)) if translated(text) == text}
    assert same <= {"webhook", "Webhook", "Webhooks"}


@pytest.mark.django_db
def test_who_is_not_logged_in_may_choose_a_language(client: Client) -> None:
    page = client.get("/login/", headers=CHINESE).content.decode()
    assert 'action="/language/"' in page
    assert 'name="next" value="/login/"' in page
    assert "用户名" in page
    assert ">English</button>" in page


@pytest.mark.django_db
def test_scripts_have_their_texts_where_pages_are_not_in_english(client: Client) -> None:
    assert "/jsi18n/zh-hans/" in client.get("/login/", headers=CHINESE).content.decode()
    assert "/jsi18n/" not in client.get("/login/").content.decode()
    texts = client.get("/jsi18n/zh-hans/")
    assert "Copied" in texts.content.decode()
    assert "public" in texts["Cache-Control"]
    assert client.get("/jsi18n/fr/").status_code == 404
