"""Turns the stream of a run into JSON. Started with the interpreter that has Tempest.

python -m tests.conformance.compute.subunit_process --tests LIST --output JSON < STREAM
"""

import argparse
import importlib
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import subunit  # type: ignore[import-not-found, unused-ignore]
import testtools  # type: ignore[import-not-found, unused-ignore]

from tests.conformance.compute.results import of_each_test, outcome_of
from tests.conformance.outcomes import as_json

MAKES_SERVERS = ("create_test_server(", "servers_client.create_server(", "create_shared_server(")
BASES = (
    "tempest.test",
    "tempest.api.compute.base",
    "tempest.api.volume.base",
    "tempest.lib",
    "testtools",
    "unittest",
    "fixtures",
)


def main(arguments: list[str]) -> int:
    """0 when the stream was read to its end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tests", type=Path, required=True, help="the names of all tests that were to run, one a line")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    found: list[dict[str, Any]] = []
    result = testtools.StreamToDict(found.append)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(sys.stdin.buffer, non_subunit_name="stdout").run(result)
    result.stopTestRun()
    listed = options.tests.read_text().splitlines()
    outcomes = of_each_test([outcome for each in found if (outcome := _outcome(each))], listed)
    servers = sorted({each.file for each in outcomes if makes_servers(each.file)})
    options.output.write_text(json.dumps({"outcomes": as_json(outcomes), "makes_servers": servers}))
    return 0


def _outcome(test: Mapping[str, Any]) -> Any:
    details = {name: content.as_text() for name, content in test["details"].items() if _is_text(content)}
    return outcome_of(test["id"], test["status"], details)


def _is_text(content: Any) -> bool:
    return bool(content.content_type.type == "text")


@cache
def makes_servers(name: str) -> bool:
    """Whether a class of tests, by its dotted name, makes servers itself or in a class of tests that it is made of."""
    module, _, of_class = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), of_class)
    except (ImportError, AttributeError):
        return False
    return any(word in text for text in _sources(found.__mro__) for word in MAKES_SERVERS)


def _sources(classes: Iterable[type]) -> Iterator[str]:
    for each in classes:
        if each is not object and not each.__module__.startswith(BASES):
            yield inspect.getsource(each)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
