"""The conformance harness itself: worlds, modes, the list of exceptions and the report."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.exceptions import KnownException, judge, known_exceptions
from tests.conformance.outcomes import Outcome, Verdict, as_json, from_json
from tests.conformance.placement.__main__ import KNOWN
from tests.conformance.placement.builder import leaves_first
from tests.conformance.placement.modes import CORS_ORIGIN, Mode, mode_of, settings_of
from tests.conformance.placement.mount import without_mount
from tests.conformance.placement.shapes import World
from tests.conformance.placement.suite import SuiteError, files_in, fixture_in
from tests.conformance.placement.worlds import WORLDS
from tests.conformance.report import Run, Tally, table, tallies, write_json

SAMPLE = {
    "traits.yaml": "APIFixture",
    "allocation-candidates.yaml": "SharedStorageFixture",
    "usage-secure-rbac.yaml": "SecureRBACPolicyFixture",
    "usage-policy.yaml": "OpenPolicyFixture",
    "usage-legacy-rbac.yaml": "LegacyRBACPolicyFixture",
    "cors.yaml": "CORSFixture",
    "same-subtree-deep.yaml": "DeepNUMANetworkFixture",
}

PASSED = Outcome("a.yaml", "one", Verdict.PASSED)
FAILED = Outcome("a.yaml", "two", Verdict.FAILED, "GET /: 404 is not 200")
SKIPPED = Outcome("b.yaml", "three", Verdict.SKIPPED)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A directory with files that look as the suite's do."""
    for name, fixture in SAMPLE.items():
        (tmp_path / name).write_text(f"# About it.\n\nfixtures:\n    # why\n    - {fixture}\n\ntests: []\n")
    return tmp_path


@pytest.mark.parametrize("fixture", SAMPLE.values())
def test_fixture_that_a_file_names_has_a_world(fixture: str) -> None:
    assert fixture in WORLDS


def _variables(world: World) -> Iterator[str]:
    yield from (node.variable for node, _ in world.levels())
    yield from (holding.consumer_variable for holding in world.holdings)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_world_names_each_variable_once(world: World) -> None:
    names = list(_variables(world))
    assert len(names) == len(set(names))


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_world_makes_parents_before_their_children(world: World) -> None:
    made: set[str] = set()
    for node, parent in world.levels():
        assert parent is None or parent.variable in made
        made.add(node.variable)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_holding_is_of_what_its_provider_has(world: World) -> None:
    nodes = {node.variable: node for node, _ in world.levels()}
    for holding in world.holdings:
        assert holding.amounts.keys() <= nodes[holding.provider].stocks.keys()


def test_chain_of_providers_is_deleted_from_its_end() -> None:
    chain: list[dict[str, str | None]] = [
        {"uuid": "root", "parent_provider_uuid": None},
        {"uuid": "leaf", "parent_provider_uuid": "middle"},
        {"uuid": "middle", "parent_provider_uuid": "root"},
    ]
    assert leaves_first(chain) == ["leaf", "middle", "root"]


@pytest.mark.parametrize(("name", "fixture"), SAMPLE.items())
def test_fixture_below_a_comment_is_found(suite: Path, name: str, fixture: str) -> None:
    assert fixture_in(suite / name) == fixture


def test_file_without_fixture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text("tests: []\n")
    with pytest.raises(SuiteError, match=r"odd\.yaml names no fixture"):
        files_in(tmp_path)


def test_file_asked_for_by_its_stem_is_found(suite: Path) -> None:
    assert [each.name for each in files_in(suite, ["traits"])] == ["traits.yaml"]


def test_file_that_is_not_there_is_refused(suite: Path) -> None:
    with pytest.raises(SuiteError, match=r"no such file in the suite: trait$"):
        files_in(suite, ["trait"])


@pytest.mark.parametrize(
    ("fixture", "mode"),
    [
        ("APIFixture", Mode.LEGACY),
        ("LegacyRBACPolicyFixture", Mode.LEGACY),
        ("GranularFixture", Mode.LEGACY),
        ("SecureRBACPolicyFixture", Mode.SECURE),
        ("OpenPolicyFixture", Mode.OPEN),
        ("CORSFixture", Mode.CORS),
    ],
)
def test_fixture_switches_on_its_mode(fixture: str, mode: Mode) -> None:
    assert mode_of(fixture) is mode


def test_cors_mode_is_legacy_with_one_foreign_origin() -> None:
    assert settings_of(Mode.CORS) == {"PLACEMENT_TEST_IDENTITY": "legacy", "PLACEMENT_CORS_ORIGINS": CORS_ORIGIN}


def test_other_modes_allow_no_foreign_origin() -> None:
    assert {settings_of(mode)["PLACEMENT_CORS_ORIGINS"] for mode in Mode if mode is not Mode.CORS} == {""}


@pytest.mark.parametrize(
    ("link", "seen"),
    [("/placement/traits", "/traits"), ("", ""), ("/traits", "not below /placement: /traits")],
)
def test_link_is_seen_without_its_mount_prefix(link: str, seen: str) -> None:
    assert without_mount({"links": [{"href": link}]}, "/placement") == {"links": [{"href": seen}]}


def test_failure_that_nobody_expects_is_not_good() -> None:
    found = judge([PASSED, FAILED], [], "sqlite")
    assert (found.unexpected, found.is_good) == ((FAILED,), False)


def test_failure_on_the_list_is_good() -> None:
    found = judge([PASSED, FAILED], [KnownException("a.yaml", "two", "cannot be")], "sqlite")
    assert (found.expected, found.is_good) == (((FAILED, "cannot be"),), True)


def test_entry_whose_request_passes_is_not_good() -> None:
    entry = KnownException("a.yaml", "one", "could not be")
    found = judge([PASSED], [entry], "sqlite")
    assert (found.stale, found.is_good) == ((entry,), False)


def test_entry_for_another_database_excuses_nothing() -> None:
    entry = KnownException("a.yaml", "two", "cannot be", ("postgres",))
    assert judge([FAILED], [entry], "sqlite").unexpected == (FAILED,)


def test_entry_without_a_reason_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text('[[exception]]\nfile = "a.yaml"\nrequest = "two"\nreason = " "\n')
    with pytest.raises(ValueError, match="two"):
        known_exceptions(path)


def test_committed_list_gives_a_reason_for_each_entry() -> None:
    assert all(each.reason for each in known_exceptions(KNOWN))


def test_tallies_count_each_file_and_the_total() -> None:
    assert tallies([PASSED, FAILED, SKIPPED]) == [
        Tally("a.yaml", 1, 1, 0),
        Tally("b.yaml", 0, 0, 1),
        Tally("total", 1, 1, 1),
    ]


def test_table_shows_a_failure_with_its_cause() -> None:
    run = Run("sqlite", (PASSED, FAILED), judge([PASSED, FAILED], [], "sqlite"))
    assert list(table(run))[-1] == "FAILED: a.yaml: two: GET /: 404 is not 200"


def test_json_report_holds_every_request(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.json"
    write_json([Run("sqlite", (PASSED, FAILED), judge([PASSED, FAILED], [], "sqlite"))], path)
    (run,) = json.loads(path.read_text())
    assert (run["passed"], run["failed"], run["good"], len(run["requests"])) == (1, 1, False, 2)


def test_outcome_survives_its_way_between_processes() -> None:
    assert from_json(json.loads(json.dumps(as_json([PASSED, FAILED, SKIPPED])))) == [PASSED, FAILED, SKIPPED]
