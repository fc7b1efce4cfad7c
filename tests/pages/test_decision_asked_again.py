"""A decision asked again from its page: replay, and what would help."""

from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulingDecision
from servers.models import Instance
from tests.worlds.cloud import People, active, create, flavor, pump
from tests.worlds.decisions import HTMX, AsPerson, address, decision_of, unplaced


def test_replay_says_that_the_decision_is_the_same_with_its_digest(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))

    answer = as_person(people.admin).post(f"{address(decision)}replay/", headers=HTMX)

    assert "Replay identical." in answer.text
    assert answer.text.count(decision.trace_digest) == 2
    assert "<html" not in answer.text


def test_replay_shows_the_first_difference(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))
    SchedulingDecision.objects.filter(pk=decision.pk).update(trace_digest="0" * 40)

    answer = as_person(people.admin).post(f"{address(decision)}replay/", headers=HTMX)

    assert answer.context["replay"].same is False
    assert "Replay differs." in answer.text


def test_replay_of_a_decision_whose_fleet_is_gone_says_so(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))
    SchedulingDecision.objects.filter(pk=decision.pk).update(snapshot="")
    client = as_person(people.admin)

    assert "was not kept" in client.post(f"{address(decision)}replay/", headers=HTMX).text
    assert "not kept; this record takes" in client.get(address(decision)).text


def test_help_tells_admins_changes_of_the_fleet_and_tenants_those_of_the_request(
    people: People, as_person: AsPerson
) -> None:
    service_disable(host="h2", reason="x")
    flavor("wide", vcpus=3, memory_mib=9000)
    decision = decision_of(create_and_pump(people, "wide"))

    reported = {
        name: as_person(getattr(people, name)).post(f"{address(decision)}help/", headers=HTMX)
        for name in ("admin", "member", "reader")
    }

    kinds = {
        name: {kind for one in answer.context["help"]["changes"] for kind in one["kinds"]}
        for name, answer in reported.items()
    }
    assert "fleet" in kinds["admin"]
    assert kinds["member"] == kinds["reader"] == {"request"}
    assert "h1" in reported["admin"].text
    assert "h1" not in reported["member"].text
    assert "of memory instead of 8.8 GiB" in reported["member"].text


def create_and_pump(people: People, wanted: str) -> Instance:
    made = create(people.member, f"of-{wanted}", flavor=wanted)[0]
    pump()
    return made


def test_help_writes_nothing_and_says_when_nothing_has_to_change(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    before = SchedulingDecision.objects.count(), Instance.objects.count()

    answer = as_person(people.member).post(f"{address(decision_of(instance))}help/", headers=HTMX)

    assert "Nothing has to change" in answer.text
    assert (SchedulingDecision.objects.count(), Instance.objects.count()) == before


def test_help_about_a_host_lists_every_rule_that_refuses_it(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="x")
    decision = unplaced(people)

    answer = as_person(people.admin).post(f"{address(decision)}help/", {"host": "h2"}, headers=HTMX)

    assert {one["reason"] for one in answer.context["help"]["host"]["rules"]} == {"disabled", "disk_short"}
    assert "Enable h2" in answer.text or "enable h2" in answer.text


def test_help_about_a_host_is_for_admins(people: People, as_person: AsPerson) -> None:
    decision = unplaced(people)

    assert as_person(people.member).post(f"{address(decision)}help/", {"host": "h2"}).status_code == 403


def test_help_about_a_host_that_is_not_there_says_so(people: People, as_person: AsPerson) -> None:
    decision = unplaced(people)

    answer = as_person(people.admin).post(f"{address(decision)}help/", {"host": "<i>h9"}, headers=HTMX)

    assert "There is no host &lt;i&gt;h9." in answer.text


def test_without_htmx_an_answer_stands_in_the_page_whose_links_lead_back(people: People, as_person: AsPerson) -> None:
    decision = unplaced(people)
    client = as_person(people.admin)

    for verb in ("help", "replay"):
        page = client.post(f"{address(decision)}{verb}/").text
        assert 'id="refused"' in page
        assert f'href="{address(decision)}?stage=placement' in page
        assert 'href="?' not in page
