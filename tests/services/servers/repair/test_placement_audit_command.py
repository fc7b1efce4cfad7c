"""`manage.py placement_audit`: output, statuses, questions."""

import json
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from controlplane.infra.db import now_plus
from placement.domain import Claim, InventorySpec
from placement.models import Consumer, Inventory
from placement.selectors import fleet_usage
from placement.services import allocations_claim, inventory_put
from tests.worlds.cloud import People, active, cloud

# Agents of the small cloud close connections between their calls, which a test inside one transaction forbids.
pytestmark = pytest.mark.django_db(transaction=True)
STRANGER = uuid.UUID(int=99)


@pytest.fixture
def people(transactional_db: None) -> People:
    return cloud("h1")


@pytest.fixture
def drifted(people: People) -> People:
    """One counter that can be put right, one allocation without inventory that cannot."""
    active(people.member)
    Inventory.objects.filter(resource_class__name="VCPU").update(used=9)
    return people


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("placement_audit", *arguments, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


def used() -> int:
    (provider,) = fleet_usage().values()
    return provider["VCPU"].used


def answer(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    """What the operator types; None closes the standard input."""
    monkeypatch.setattr("sys.stdin", StringIO("" if text is None else f"{text}\n"))


def test_a_clean_installation_ends_with_0(people: People) -> None:
    assert run() == (0, "0 findings\n")


def test_findings_are_a_table_with_a_count_by_kind_and_end_with_1(drifted: People) -> None:
    Consumer.objects.create(uuid=STRANGER, project_id="p", user_id="u")

    status, out = run()

    assert status == 1
    assert [line.split()[0] for line in out.splitlines()] == ["kind", "empty_consumer", "used_differs", "2"]
    assert out.endswith("2 findings: empty_consumer 1, used_differs 1\n")


def test_json_is_one_object_a_finding_with_its_fix(drifted: People) -> None:
    status, out = run("--json")

    (one,) = [json.loads(line) for line in out.splitlines()]
    assert (status, one["kind"], one["seen"]["used"], one["fix"]["before"]) == (1, "used_differs", 9, "used 9")


def test_what_is_meant_to_be_so_can_be_left_out(drifted: People) -> None:
    assert run("--ignore", "used_differs") == (0, "0 findings\n")


def test_a_dry_run_explains_and_changes_nothing(drifted: People) -> None:
    status, out = run("--heal", "--dry-run")

    assert (status, used()) == (1, 9)
    for said in ("fix:    Count VCPU", "why:", "before: used 9", "after:  used 1", "Dry run: nothing was changed"):
        assert said in out


@pytest.mark.parametrize("typed", ["", "n", "nonsense", None])
def test_without_a_yes_nothing_changes(typed: str | None, drifted: People, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, typed)

    status, out = run("--heal")

    assert (status, used()) == (1, 9)
    assert "Nothing was changed." in out


def test_a_yes_heals_and_ends_with_0(drifted: People, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "y")

    status, out = run("--heal")

    assert (status, used()) == (0, 1)
    assert out.endswith("1. done\n1 done, 0 no longer needed, 0 cannot be healed\n0 findings left\n")


def test_what_cannot_be_healed_is_explained_and_ends_with_1(drifted: People) -> None:
    Inventory.objects.filter(resource_class__name="DISK_GB").delete()

    status, out = run("--heal", "--yes")

    assert (status, used()) == (1, 1)
    assert "cannot be healed: Nobody knows how much DISK_GB there is." in out
    assert "1 done, 0 no longer needed, 1 cannot be healed" in out


def test_what_another_fix_settles_is_not_left(people: People) -> None:
    consumer, (provider,) = uuid.UUID(int=7), fleet_usage()
    allocations_claim([Claim(consumer, "p", "u", {provider: {"VCPU": 4}})])
    inventory_put(provider, "VCPU", InventorySpec(1))
    Consumer.objects.update(created_at=now_plus(-3600))

    status, out = run("--heal", "--yes")

    assert (status, out.splitlines()[-1]) == (0, "0 findings left")


def test_healing_for_programs_is_one_object_a_fix(drifted: People) -> None:
    status, out = run("--heal", "--yes", "--json")

    (one,) = [json.loads(line) for line in out.splitlines()]
    assert (status, one["state"], one["kind"]) == (0, "done", "used_differs")


def test_a_filter_narrows_what_is_healed(drifted: People) -> None:
    assert run("--heal", "--yes", "--provider", "other") == (0, "0 findings\n")
    assert used() == 9


@pytest.mark.parametrize(
    "arguments", [("--yes",), ("--dry-run",), ("--instance", "web-1"), ("--heal", "--json")], ids=" ".join
)
def test_options_that_make_no_sense_are_refused(arguments: tuple[str, ...], people: People) -> None:
    with pytest.raises(CommandError):
        run(*arguments)
