"""The editor of a draft: its order, its multipliers, its settings, and what it refuses at which field."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from controlplane.dashboard.policies.editor import PolicyEditor
from controlplane.dashboard.policies.plugin_lines import (
    FILTERS,
    SCHEDULERS,
    SETTINGS,
    WEIGHERS,
    filter_line,
    first_sentence,
)
from controlplane.dashboard.policies.values import (
    OPTION_SETTINGS,
    SCHEDULER_SETTINGS,
    NotAValue,
    SettingKind,
    text_of,
    value_of,
)
from controlplane.identity.domain import Caller
from scheduling.domain.policy import policy_from_dict, policy_to_dict
from scheduling.filters.registry import BUILT_IN as OUR_FILTERS
from scheduling.models import SchedulerPolicy
from scheduling.policies.selectors.policies import policy_get
from scheduling.policies.services.policies import policy_create, policy_update
from scheduling.schedulers.registry import BUILT_IN as OUR_SCHEDULERS
from scheduling.weighers.registry import BUILT_IN as OUR_WEIGHERS
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}
BODY = {"filters": ["ComputeFilter", "RamFilter", "CoreFilter"], "weighers": {"RAMWeigher": -1.0}}


@pytest.fixture
def draft(people: People) -> SchedulerPolicy:
    return policy_create(body=BODY)


def form(draft: SchedulerPolicy, **changes: Any) -> dict[str, Any]:
    fields = {
        "revision": str(draft.revision),
        "filter": ["ComputeFilter", "RamFilter", "CoreFilter"],
        "weigher": ["RAMWeigher"],
        "multiplier": ["-1"],
        "comment": "",
    }
    return {**fields, **changes}


def address(draft: SchedulerPolicy) -> str:
    return f"/policies/{draft.pk}/edit/"


def names(draft: SchedulerPolicy) -> list[str]:
    return [str(name) for name in policy_get(policy_id=draft.pk).body["filters"]]


@pytest.mark.parametrize(
    ("do", "expected", "reported"),
    [
        ("up:CoreFilter", ["ComputeFilter", "CoreFilter", "RamFilter"], "CoreFilter is number 2 of 3."),
        ("down:ComputeFilter", ["RamFilter", "ComputeFilter", "CoreFilter"], "ComputeFilter is number 2 of 3."),
        ("up:ComputeFilter", ["ComputeFilter", "RamFilter", "CoreFilter"], "ComputeFilter is number 1 of 3."),
        ("drop-filter:RamFilter", ["ComputeFilter", "CoreFilter"], "RamFilter is removed."),
        ("up:NoFilter", ["ComputeFilter", "RamFilter", "CoreFilter"], ""),
        ("nonsense", ["ComputeFilter", "RamFilter", "CoreFilter"], ""),
    ],
)
def test_a_button_of_a_row_changes_what_is_shown_and_says_so(
    do: str, expected: list[str], reported: str, draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    page = as_person(people.admin).post(address(draft), form(draft, do=do))

    assert [row.plugin.name for row in page.context["filters"]] == expected
    assert page.context["message"] == reported
    assert names(draft) == BODY["filters"]


def test_a_row_that_moved_keeps_its_buttons_by_name_so_that_the_focus_stays(
    draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    part = as_person(people.admin).post(address(draft), form(draft, do="up:CoreFilter"), headers=HTMX).text

    assert 'id="up-CoreFilter"' in part
    assert 'id="announce"' in part
    assert "<html" not in part
    assert " disabled" not in part


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("filter", "DiskFilter", ""),
        ("filter", "NoSuchFilter", "there is no "),
        ("filter", "RamFilter", "RamFilter is there already."),
        ("filter", "", "Name one."),
        ("weigher", "CPUWeigher", ""),
        ("weigher", "RamFilter", "there is no "),
    ],
)
def test_a_filter_or_weigher_is_added_if_it_loads(
    kind: str, name: str, problem: str, draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    sent = form(draft, do=f"add:{kind}", **{f"add_{kind}": name})

    page = as_person(people.admin).post(address(draft), sent)

    reported = " ".join(page.context["editor"].errors.get(f"add_{kind}", []))
    rows = page.context["filters" if kind == "filter" else "weighers"]
    assert reported.startswith(problem) if problem else not reported
    assert (rows[-1].plugin.name == name) is not bool(problem)


def test_saving_writes_order_multipliers_settings_and_options(
    draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    sent = form(draft, filter=["CoreFilter", "ComputeFilter"], weigher=["CPUWeigher", "RAMWeigher"])
    sent |= {"multiplier": ["0.5", ""], "max_attempts": "5", "shuffle_best_same_weighed_hosts": "yes"}
    sent |= {"options.max_io_ops_per_host": "4", "options.isolated_hosts": "h1\nh2", "comment": "stack"}
    sent |= {"options.metrics_weight_setting": "cpu.percent = -1.5", "scheduler": "chance_scheduler"}

    as_person(people.admin).post(address(draft), sent)

    row = policy_get(policy_id=draft.pk)
    assert row.body == {
        "filters": ["CoreFilter", "ComputeFilter"],
        "weighers": [{"name": "CPUWeigher", "multiplier": 0.5}, {"name": "RAMWeigher", "multiplier": None}],
        "scheduler": "chance_scheduler",
        "max_attempts": 5,
        "shuffle_best_same_weighed_hosts": True,
        "options": {
            "max_io_ops_per_host": 4,
            "isolated_hosts": ["h1", "h2"],
            "metrics_weight_setting": {"cpu.percent": -1.5},
        },
    }
    assert row.comment == "stack"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"multiplier": ["many"]}, "weighers.RAMWeigher"),
        ({"multiplier": ["nan"]}, "weighers.RAMWeigher"),
        ({"weigher": ["PCIWeigher"], "multiplier": ["-1"]}, "weighers.PCIWeigher"),
        ({"filter": ["NoSuchFilter"]}, "filters.NoSuchFilter"),
        ({"max_attempts": "0"}, "max_attempts"),
        ({"max_attempts": "x"}, "max_attempts"),
        ({"shuffle_best_same_weighed_hosts": "maybe"}, "shuffle_best_same_weighed_hosts"),
        ({"scheduler": "no_scheduler"}, "scheduler"),
        ({"options.max_io_ops_per_host": "-1"}, "options.max_io_ops_per_host"),
        ({"options.metrics_weight_setting": "cpu"}, "options.metrics_weight_setting"),
        ({"options.extra": "[]"}, "options.extra"),
        ({"other": "{"}, "other"),
        ({"other": '{"filtrs": []}'}, "filtrs"),
        ({"other": '{"options": {"max_io": 1}}'}, "options.max_io"),
        ({"comment": "x" * 1001}, "comment"),
    ],
)
def test_a_wrong_value_is_refused_with_its_field_and_nothing_is_saved(
    changes: dict[str, Any], path: str, draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    page = as_person(people.admin).post(address(draft), form(draft, **changes))

    assert path in page.context["editor"].errors
    assert "Nothing was saved." in page.text
    assert policy_get(policy_id=draft.pk).revision == draft.revision


def test_a_draft_that_somebody_changed_meanwhile_is_not_overwritten(
    draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    policy_update(policy_id=draft.pk, comment="mine")

    page = as_person(people.admin).post(address(draft), form(draft, comment="yours"))

    assert "was changed meanwhile" in page.text
    assert policy_get(policy_id=draft.pk).comment == "mine"


def test_a_version_that_decided_cannot_be_edited(people: People, as_person: AsPerson) -> None:
    active = policy_create(body=BODY, activate=True)
    client = as_person(people.admin)

    answers = [client.get(address(active)), client.post(address(active), form(active))]

    assert [one.status_code for one in answers] == [409, 409]
    assert "Copy it into a new draft" in answers[0].text


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        {},
        {"filters": [], "weighers": []},
        {"options": {"extra": {"mine": [1, 2]}, "metrics_required": False, "max_io_ops_per_host": 3}},
        {"weighers": [{"name": "BuildFailureWeigher", "multiplier": 1_000_000.0}, {"name": "CPUWeigher"}]},
        policy_to_dict(policy_from_dict({}, version="whole")),
    ],
)
def test_a_body_that_is_shown_and_saved_unchanged_means_the_same(body: Mapping[str, Any], db: None) -> None:
    editor = PolicyEditor.from_body(body)

    saved = editor.body()

    assert editor.errors == {}
    assert policy_from_dict(saved, version="v") == policy_from_dict(body, version="v")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"filters": "RamFilter"}, "filters"),
        ({"weighers": [1]}, "weighers"),
        ({"weighers": {"RAMWeigher": "heavy"}}, "weighers.RAMWeigher"),
        ({"max_attempts": "three"}, "max_attempts"),
        ({"options": []}, "options"),
        ({"options": {"max_io_ops_per_host": None}}, "options.max_io_ops_per_host"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_the_editor_has_no_field_for_is_kept_and_named(body: dict[str, Any], path: str, db: None) -> None:
    editor = PolicyEditor.from_body(body)

    editor.body()

    assert editor.other
    assert path in editor.errors


@pytest.mark.parametrize("revision", ["x", "", "²", "9" * 40])
def test_a_revision_that_is_no_number_counts_as_none(revision: str) -> None:
    data = QueryDict(mutable=True)
    data["revision"] = revision

    assert PolicyEditor.from_post(data).revision is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [(SettingKind.FLAG, "true"), (SettingKind.NUMBER, "inf"), (SettingKind.JSON, "1"), (SettingKind.WEIGHTS, "= 2")],
)
def test_a_text_that_is_no_value_says_what_it_should_be(kind: SettingKind, text: str) -> None:
    with pytest.raises(NotAValue, match=r"\S"):
        value_of(text, kind)


@pytest.mark.parametrize(
    ("kind", "value"), [(SettingKind.FLAG, 1), (SettingKind.WHOLE, True), (SettingKind.NAMES, ["x", 1])]
)
def test_a_stored_value_of_another_kind_is_not_shown_as_a_text(kind: SettingKind, value: object) -> None:
    with pytest.raises(NotAValue):
        text_of(value, kind)


def test_every_filter_weigher_scheduler_and_setting_has_its_line() -> None:
    settings = {one.name for one in (*SCHEDULER_SETTINGS, *OPTION_SETTINGS)}

    assert (set(FILTERS), set(WEIGHERS), set(SCHEDULERS)) == (set(OUR_FILTERS), set(OUR_WEIGHERS), set(OUR_SCHEDULERS))
    assert settings <= set(SETTINGS)


class Plugin:
    """Refuses hosts on Mondays. And this is more than one line."""


def test_a_plug_in_is_told_by_its_first_sentence() -> None:
    assert first_sentence(Plugin()) == "Refuses hosts on Mondays."


def test_a_plug_in_that_does_not_load_says_why() -> None:
    reported = filter_line("no.such.Filter")

    assert (reported.loads, "no.such.Filter" in reported.line) == (False, True)


def test_hostile_words_are_escaped(people: People, as_person: AsPerson) -> None:
    draft = policy_create(body={"filters": ["<script>x</script>"], "<b>": 1}, comment='"><script>y</script>')
    client = as_person(people.admin)

    reported = (
        client.get(address(draft)).text + client.get(f"/policies/{draft.pk}/").text + client.get("/policies/").text
    )

    assert "<script>x" not in reported
    assert "<script>y" not in reported
    assert '"<b>"' not in reported


def test_the_enter_key_adds_what_is_about_to_be_added(
    draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    sent = form(draft, do="enter", add_weigher="CPUWeigher")

    page = as_person(people.admin).post(address(draft), sent)

    assert page.context["message"] == "CPUWeigher is added at the end."
    assert policy_get(policy_id=draft.pk).revision == draft.revision


def test_the_enter_key_saves_where_nothing_is_about_to_be_added(
    draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    answer = as_person(people.admin).post(address(draft), form(draft, do="enter", comment="new"), headers=HTMX)

    assert answer.headers["HX-Redirect"] == f"/policies/{draft.pk}/"
    assert policy_get(policy_id=draft.pk).comment == "new"


def test_saving_never_drops_a_name_that_was_not_added_yet(
    draft: SchedulerPolicy, people: People, as_person: AsPerson
) -> None:
    page = as_person(people.admin).post(address(draft), form(draft, add_filter="DiskFilter"))

    assert list(page.context["editor"].errors) == ["add_filter"]
    assert 'value="DiskFilter"' in page.text


def test_each_problem_links_to_its_field(draft: SchedulerPolicy, people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).post(address(draft), form(draft, max_attempts="0", multiplier=["x"])).text

    for path in ("max_attempts", "weighers.RAMWeigher"):
        assert f'href="#wrong-{path}"' in page
        assert f'id="wrong-{path}"' in page
