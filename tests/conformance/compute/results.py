"""What became of each test of Tempest, from what its runner says of it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tests.conformance.outcomes import Outcome, Verdict

VERDICTS = {
    "success": Verdict.PASSED,
    "xfail": Verdict.PASSED,
    "fail": Verdict.FAILED,
    "uxsuccess": Verdict.FAILED,
    "inprogress": Verdict.FAILED,
    "skip": Verdict.SKIPPED,
}
"""By the words of the stream. A test that is still in progress at its end was cut off."""
TEST = re.compile(r"^(?P<file>[\w.]+)\.(?P<request>\w+)(?P<attributes>\[.*\])?$")
RAISED = re.compile(r"^(tempest|testtools|jsonschema|[A-Z]\w*(Error|Exception|Mismatch))[\w.]*(:|$)")
DETAIL_MAX_CHARS = 600
DID_NOT_RUN = Outcome("", "", Verdict.FAILED, "it did not run")
OF_CLASS = re.compile(r"^(?P<request>setUpClass|tearDownClass) \((?P<file>[\w.]+)\)$")


def outcome_of(test: str, status: str, details: Mapping[str, str]) -> Outcome | None:
    """The outcome of a test, or of what its class does before and after. None for what is no test, as output is."""
    found = OF_CLASS.match(test) or TEST.match(test)
    if found is None or status not in VERDICTS:
        return None
    verdict = VERDICTS[status]
    if verdict is Verdict.FAILED:
        detail = last_line("\n".join(text for name, text in details.items() if "traceback" in name) or status)
    else:
        detail = details.get("reason", "").strip() if verdict is Verdict.SKIPPED else ""
    return Outcome(found["file"], found["request"], verdict, detail)


def of_each_test(outcomes: Sequence[Outcome], listed: Iterable[str]) -> list[Outcome]:
    """One outcome for each test that is listed. A class that stopped before its first test says it of all."""
    before = {each.file: each for each in outcomes if each.request == "setUpClass"}
    own = [each for each in outcomes if each.request != "setUpClass"]
    ended = {(each.file, each.request) for each in own}
    for line in listed:
        found = TEST.match(line.strip())
        if found is not None and (found["file"], found["request"]) not in ended:
            cause = before.get(found["file"], DID_NOT_RUN)
            own.append(Outcome(found["file"], found["request"], cause.verdict, cause.detail))
    return own


def last_line(traceback: str) -> str:
    """What was raised last: the lines of a traceback from the one that names the exception on, as one line."""
    lines = traceback.rstrip().splitlines()
    begins = [number for number, line in enumerate(lines) if RAISED.match(line)]
    return " ".join(line.strip() for line in lines[begins[-1] if begins else -1 :])[:DETAIL_MAX_CHARS]


def skip_reasons(outcomes: Iterable[Outcome]) -> list[tuple[str, int]]:
    """Why tests were skipped, and how many for each reason, most first."""
    return Counter(each.detail for each in outcomes if each.verdict is Verdict.SKIPPED).most_common()


def shares(outcomes: Iterable[Outcome], makes_servers: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Of the tests that need no servers and of those whose class makes some: how many passed, of how many that ran."""
    ran = [each for each in outcomes if each.verdict is not Verdict.SKIPPED]
    for name, needs in (("API only", False), ("with servers", True)):
        these = [each.verdict for each in ran if (each.file in makes_servers) is needs]
        yield name, these.count(Verdict.PASSED), len(these)
