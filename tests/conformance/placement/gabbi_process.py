"""Runs files of the suite against one live service. Started with the interpreter that has gabbi.

    python -m tests.conformance.placement.gabbi_process --url URL --suite DIRECTORY --output JSON FILE...

The suite is written for a service at the root of its host. Gabbi itself puts a mount prefix before every path and
into $NETLOC; `MountedJson` takes it off again where answers link to themselves.
"""

import argparse
import json
import os
import sys
import unittest
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gabbi import fixture, handlers, suitemaker, utils  # type: ignore[import-not-found, unused-ignore]
from gabbi.handlers.jsonhandler import JSONHandler  # type: ignore[import-not-found, unused-ignore]

from tests.conformance.outcomes import Outcome, Verdict, as_json
from tests.conformance.placement.builder import build, clear
from tests.conformance.placement.mount import without_mount
from tests.conformance.placement.service import Service, ServiceError
from tests.conformance.placement.shapes import World
from tests.conformance.placement.worlds import WORLDS

ANSWER_SHOWN = 300
# Gabbi gives the error of a world that could not be made to the first request and skips all, for this reason.
GABBI_NO_WORLD = "fixture failure"
NO_WORLD = "not sent: the file's world could not be made"


def main(arguments: list[str]) -> int:
    """0 when every file was run, whatever came out; 2 when none could be, or the service could not be cleared."""
    options = _options(arguments)
    service = Service(options.url)
    try:
        if service.providers() and not options.erase:
            raise ServiceError(f"{options.url} has resource providers: its world would be lost (--erase)")
        outcomes = [each for name in options.files for each in run_file(service, options.suite / name)]
        clear(service)
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 2
    options.output.write_text(json.dumps(as_json(outcomes)))
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--erase", action="store_true")
    parser.add_argument("files", nargs="+")
    return parser.parse_args(arguments)


def run_file(service: Service, path: Path) -> Iterator[Outcome]:
    """Send all requests of one file, in its world."""
    host, port, prefix, _ = utils.host_info_from_target(service.url)
    suite = suitemaker.test_suite_from_dict(
        unittest.defaultTestLoader,
        path.stem,
        utils.load_yaml(yaml_file=path),
        str(path.parent),
        host,
        port,
        fixtures_for(service),
        None,
        prefix=prefix,
        handlers=_handlers(prefix),
        test_loader_name=__name__,
    )
    requests = list(suite)
    result = unittest.TestResult()
    suite.run(result)
    return _outcomes(path.name, requests, result)


def fixtures_for(service: Service) -> SimpleNamespace:
    """A fixture class for each world, under the names that the files use."""

    def fixture_class(name: str, world: World) -> type:
        def start_fixture(_: Any) -> None:
            clear(service)
            os.environ.update(build(service, world))

        return type(name, (fixture.GabbiFixture,), {"start_fixture": start_fixture})

    return SimpleNamespace(**{name: fixture_class(name, world) for name, world in WORLDS.items()})


def _handlers(prefix: str) -> list[Any]:
    class MountedJson(JSONHandler):  # type: ignore[misc, unused-ignore]
        """Bodies as a service at the root of its host would send them."""

        @staticmethod
        def loads(data: str) -> Any:
            return without_mount(JSONHandler.loads(data), prefix)

    others = [each for each in handlers.RESPONSE_HANDLERS if each is not JSONHandler]
    return [each() for each in (*others, MountedJson)]


def _outcomes(file: str, requests: Iterable[Any], result: unittest.TestResult) -> Iterator[Outcome]:
    failed = dict((*result.failures, *result.errors))
    failed |= dict.fromkeys(result.unexpectedSuccesses, "passes, though the file expects it to fail")
    skipped = dict(result.skipped)
    failed |= {test: NO_WORLD for test, why in skipped.items() if why == GABBI_NO_WORLD and test not in failed}
    for test in requests:
        name = test.test_data["name"]
        if test in failed:
            yield Outcome(file, name, Verdict.FAILED, _detail(test, failed[test]))
        else:
            yield Outcome(file, name, Verdict.SKIPPED if test in skipped else Verdict.PASSED)


def _detail(test: Any, trace: str) -> str:
    """What was asked, the first line that differs, and the beginning of the answer."""
    said = [line for line in trace.splitlines() if line and not line.startswith((" ", "Traceback"))]
    data, response = test.test_data, getattr(test, "response", {})
    asked = f"{data['method']} {getattr(test, 'url', data['url'])}"
    answer = str(getattr(test, "output", ""))[:ANSWER_SHOWN]
    return f"{asked}: {said[0] if said else trace[-ANSWER_SHOWN:]} <- {response.get('status')} {answer}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
