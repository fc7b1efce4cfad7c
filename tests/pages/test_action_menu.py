"""What a person is offered to do to an instance, and the pages that ask more before it is done."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.dashboard.instances.action_forms import ActionForm
from controlplane.dashboard.instances.action_menu import ActionMenu, action_menu
from controlplane.identity.domain import Caller
from servers.instances.actions.argument_rules import argument_reasons
from servers.instances.actions.power import STOP
from servers.instances.actions.rule import ActionRule, Argument, ArgumentKind
from servers.models import Instance
from servers.states import VmState
from tests.worlds.cloud import People, active, client_of, create, instance_of

AsPerson = Callable[[Caller], Client]
ASKED = (
    Argument("note", "Some words.", max_length=8),
    Argument("count", "How many.", kind=ArgumentKind.NUMBER, is_required=True, min_value=1, max_value=9),
    Argument("password", "The new one.", kind=ArgumentKind.PASSWORD),
    Argument("image", "What it boots from.", kind=ArgumentKind.IMAGE, is_required=True),
)
RULE = ActionRule("probe", "Probe", "Probing", "instances:act", "stop", arguments=ASKED)


def names(menu: ActionMenu) -> tuple[list[str], list[str]]:
    return [one.name for one in menu.main], [one.name for _, entries in menu.groups for one in entries]


@pytest.mark.parametrize(
    ("vm_state", "main", "some"),
    [
        (VmState.ACTIVE, ["stop", "reboot_soft", "update", "delete"], {"reboot", "pause", "suspend"}),
        (VmState.STOPPED, ["start", "update", "delete"], {"reboot", "lock"}),
        (VmState.PAUSED, ["unpause", "update", "delete"], {"reboot"}),
    ],
)
def test_the_few_that_matter_in_a_state_are_buttons_and_the_rest_is_in_the_menu(
    vm_state: VmState, main: list[str], some: set[str], people: People
) -> None:
    instance = active(people.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state=vm_state)
    menu = action_menu(instance_of(instance.pk), people.member)
    buttons, rest = names(menu)
    assert buttons == main
    assert some <= set(rest)
    assert not set(buttons) & set(rest)
    refused = dict(menu.refused)
    assert "Restore" in refused
    assert refused["Restore"].endswith("restore needs soft-delete.")


def test_who_may_only_read_is_offered_nothing_and_an_admin_more(people: People) -> None:
    instance = active(people.member)
    assert action_menu(instance, people.reader) == ActionMenu(digest=action_menu(instance, people.reader).digest)
    assert "reset_state" not in names(action_menu(instance, people.member))[1]
    assert "reset_state" in names(action_menu(instance, people.admin))[1]


def test_a_menu_that_is_open_stays_as_it_is_until_something_in_it_changes(people: People) -> None:
    instance = active(people.member)
    before = action_menu(instance, people.member).digest
    Instance.objects.filter(pk=instance.pk).update(description="other")
    assert action_menu(instance_of(instance.pk), people.member).digest == before
    Instance.objects.filter(pk=instance.pk).update(locked=True, locked_as="owner", locked_by="mary")
    assert action_menu(instance_of(instance.pk), people.member).digest != before


def test_what_waits_to_be_scheduled_can_only_be_deleted(people: People) -> None:
    assert names(action_menu(create(people.member)[0], people.member)) == (["delete"], [])


def test_the_page_of_an_action_says_what_it_does_and_to_which_instance(people: People, as_person: AsPerson) -> None:
    instance = active(people.member, "web")
    page = as_person(people.member).get(f"/instances/{instance.pk}/act/stop/").text
    assert STOP.help in page
    assert str(instance.pk) in page
    assert "Stop web</button>" in page


def test_the_page_of_an_action_that_is_not_possible_now_only_says_why(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    client, url = as_person(people.member), f"/instances/{instance.pk}/act/start/"
    page = client.get(url).text
    assert "The instance is active; start needs stopped." in page
    assert '<form method="post" action="/instances' not in page
    assert "start needs stopped" in client.post(url).text
    assert instance_of(instance.pk).task_state == ""


def test_the_page_of_the_deletion_names_what_is_lost_and_a_lock_refuses_it_there(
    people: People, as_person: AsPerson
) -> None:
    instance = active(people.member, "web")
    client, url = as_person(people.member), f"/instances/{instance.pk}/delete/"
    assert "Its disks are lost for good." in client.get(url).text
    Instance.objects.filter(pk=instance.pk).update(protected=True)
    assert "protected from deletion" in client.get(url).text
    answer = client.post(url)
    assert "protected from deletion" in answer.text
    assert instance_of(instance.pk).task_state == ""


def test_a_form_has_a_field_for_each_argument_by_its_kind() -> None:
    class Picture:
        pk, name, status = "i-1", "Debian", "active"

    form = ActionForm(RULE, {"note": "hi", "count": "3", "password": " a ", "image": "i-1"}, images=[Picture()])
    assert form.is_valid()
    assert form.arguments == {"note": "hi", "count": "3", "password": " a ", "image": "i-1"}
    shown = str(form)
    assert 'type="number"' in shown
    assert 'type="password"' in shown
    assert " a " not in shown
    wrong = ActionForm(RULE, {"count": "10", "image": "other", "note": "x" * 9}, images=[Picture()])
    assert sorted(wrong.errors) == ["count", "image", "note"]


@pytest.mark.parametrize(
    ("argument", "value", "reasons"),
    [
        (ASKED[0], "", []),
        (ASKED[0], "x" * 9, ["Has 9 characters; at most 8 are allowed."]),
        (ASKED[0], "a\0", ["Has characters that cannot be stored (NUL or a lone surrogate)."]),
        (ASKED[1], "", ["Is needed."]),
        (ASKED[1], "3", []),
        (ASKED[1], "10", ["Is 10; the most is 9."]),
        (ASKED[1], "-1", ["Is -1; the least is 1."]),
        (ASKED[1], "٣", ["Must be a whole number, not '٣'."]),
    ],
)
def test_arguments_are_judged_by_their_kind(argument: Argument, value: str, reasons: list[str]) -> None:
    assert argument_reasons(argument, value) == reasons


def test_the_api_tells_what_can_be_done_and_why_not(people: People) -> None:
    instance = active(people.member)
    url = f"/api/instances/{instance.pk}/actions/"
    offers = {one["name"]: one for one in client_of(people.member).get(url).json()}
    assert offers["stop"]["refusal"] == ""
    assert offers["start"]["refusal"] == "The instance is active; start needs stopped."
    assert offers["lock"]["arguments"][0]["kind"] == "text"
    assert "reset_state" not in offers
    assert "unlock" not in offers
    assert client_of(people.reader).get(url).json() == []
    assert client_of(people.stranger).get(url).status_code == 404
