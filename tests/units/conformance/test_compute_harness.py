"""How the results of Tempest are read and judged."""

from pathlib import Path

import pytest

from tests.conformance.compute.__main__ import DOORS, KNOWN
from tests.conformance.compute.configuration import written
from tests.conformance.compute.results import last_line, of_each_test, outcome_of, shares, skip_reasons
from tests.conformance.exceptions import EVERY, KnownException, judge, known_exceptions
from tests.conformance.outcomes import Outcome, Verdict

CLASS = "tempest.api.compute.servers.test_servers.ServersTestJSON"
TRACEBACK = """Traceback (most recent call last):
  File "/x/test_servers.py", line 49, in test_create
    self.assertEqual(1, 2)
tempest.lib.exceptions.Conflict: Conflict with state of target resource
Details: {'code': 409, 'message': 'no'}
"""


@pytest.mark.parametrize(
    ("test", "status", "details", "expected"),
    [
        (f"{CLASS}.test_a[id-9b1]", "success", {}, Outcome(CLASS, "test_a", Verdict.PASSED)),
        (f"{CLASS}.test_a[id-9b1,smoke]", "inprogress", {}, Outcome(CLASS, "test_a", Verdict.FAILED, "inprogress")),
        (f"setUpClass ({CLASS})", "skip", {"reason": "no\n"}, Outcome(CLASS, "setUpClass", Verdict.SKIPPED, "no")),
        (
            f"tearDownClass ({CLASS})",
            "fail",
            {"pythonlogging:''": "x", "traceback-1": TRACEBACK},
            Outcome(
                CLASS,
                "tearDownClass",
                Verdict.FAILED,
                "tempest.lib.exceptions.Conflict: Conflict with state of target resource "
                "Details: {'code': 409, 'message': 'no'}",
            ),
        ),
        ("process-returncode", "fail", {}, None),
        ("stdout", "exists", {}, None),
    ],
)
def test_a_result_of_the_runner_is_an_outcome(
    test: str, status: str, details: dict[str, str], expected: Outcome | None
) -> None:
    assert outcome_of(test, status, details) == expected


def test_traceback_without_an_exception_is_its_last_line() -> None:
    assert last_line("one\ntwo\n") == "two"
    assert last_line("") == ""


def test_shares_are_of_what_ran_by_whether_its_class_makes_servers() -> None:
    outcomes = [
        Outcome("a.A", "test_1", Verdict.PASSED),
        Outcome("a.A", "test_2", Verdict.SKIPPED, "not here"),
        Outcome("a.B", "test_1", Verdict.PASSED),
        Outcome("a.B", "test_2", Verdict.FAILED, "boom"),
        Outcome("a.C", "setUpClass", Verdict.SKIPPED, "not here"),
    ]
    assert list(shares(outcomes, {"a.B"})) == [("API only", 1, 1), ("with servers", 1, 2)]
    assert skip_reasons(outcomes) == [("not here", 2)]


def test_class_that_stops_before_its_tests_says_the_same_of_each_of_them() -> None:
    outcomes = [
        Outcome("a.A", "test_1", Verdict.PASSED),
        Outcome("a.B", "setUpClass", Verdict.SKIPPED, "not here"),
        Outcome("a.C", "setUpClass", Verdict.FAILED, "boom"),
        Outcome("a.C", "tearDownClass", Verdict.FAILED, "left"),
    ]
    listed = [
        "a.A.test_1[id-1]",
        "a.A.test_2[id-2,smoke]",
        "a.B.test_1[id-3]",
        "a.B.test_2",
        "a.C.test_1",
        "",
        "Some line",
    ]
    assert of_each_test(outcomes, listed) == [
        outcomes[0],
        outcomes[3],
        Outcome("a.A", "test_2", Verdict.FAILED, "it did not run"),
        Outcome("a.B", "test_1", Verdict.SKIPPED, "not here"),
        Outcome("a.B", "test_2", Verdict.SKIPPED, "not here"),
        Outcome("a.C", "test_1", Verdict.FAILED, "boom"),
    ]


def test_failure_that_is_not_listed_and_entry_that_passes_both_fail_the_run() -> None:
    known = [each for path in KNOWN for each in known_exceptions(path)]
    assert len({(each.file, each.request) for each in known}) == len(known)
    assert all(each.file.startswith("tempest.api.") for each in known)
    new = Outcome(CLASS, "test_a", Verdict.FAILED, "boom")
    assert judge([new], known, "simulated").unexpected == (new,)
    for entry in known:
        where = entry.databases[0] if entry.databases else "simulated"
        assert judge([Outcome(entry.file, entry.request, Verdict.PASSED)], known, where).stale == (entry,)
        assert judge([Outcome(entry.file, entry.request, Verdict.FAILED)], known, where).is_good
        assert judge([Outcome(entry.file, entry.request, Verdict.SKIPPED)], known, where).is_good
    whole = [KnownException(CLASS, EVERY, "none of it is here")]
    assert judge([new], whole, "simulated").expected == ((new, whole[0].reason),)
    assert judge([Outcome(CLASS, "test_b", Verdict.PASSED)], whole, "simulated").stale == (whole[0],)


def test_configuration_is_written_as_tempest_reads_it(tmp_path: Path) -> None:
    path = written({"DEFAULT": {"debug": True}, "compute": {"flavor_ref": "x%y"}}, tmp_path / "tempest.conf")
    assert path.read_text() == "[DEFAULT]\ndebug = True\n\n[compute]\nflavor_ref = x%y\n\n"


def test_each_door_has_tests_of_its_own() -> None:
    assert len(set(DOORS.values())) == len(DOORS)
