"""Run the published Placement suite against Kilonova, or against any server.

    python -m tests.conformance.placement [--database sqlite|postgres|both] [--file NAME]...
    python -m tests.conformance.placement --url URL [--mode legacy|secure|open|cors] [--erase] [--file NAME]...

Exit status: 0 when nothing failed but what is known to, 1 when something did, 2 when the run could not be made.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.conformance.exceptions import Judgement, judge, known_exceptions
from tests.conformance.outcomes import Outcome, from_json
from tests.conformance.placement.modes import Mode
from tests.conformance.placement.server import DATABASES, KilonovaServer, fresh_database
from tests.conformance.placement.suite import CACHE, INTERPRETER, ROOT, SuiteError, SuiteFile, fetched, files_in
from tests.conformance.report import Run, table, write_json
from tests.fixtures.servers import ServerFailedError, ServerMissingError

KNOWN = Path(__file__).with_name("known_exceptions.toml")


class RunError(RuntimeError):
    """The files could not be run; the process that tried has said why."""


def main(arguments: list[str]) -> int:
    """See the module."""
    options = _options(arguments)
    try:
        files = files_in(fetched(), options.file)
        runs = _runs(options, files)
    except (SuiteError, RunError, ServerMissingError, ServerFailedError) as error:
        print(error, file=sys.stderr)
        return 2
    for run in runs:
        print(*table(run), sep="\n", end="\n\n")
    write_json(runs, options.report)
    return 0 if all(run.judgement.is_good for run in runs) else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.placement")
    parser.add_argument("--database", choices=[*DATABASES, "both"], default="both")
    parser.add_argument("--file", action="append", default=[], metavar="NAME", help="only this file; may be repeated")
    parser.add_argument("--url", help="a server that runs already, with its mount prefix; starts none")
    parser.add_argument("--mode", type=Mode, choices=list(Mode), default=Mode.LEGACY, help="how that server is set up")
    parser.add_argument("--erase", action="store_true", help="that server's providers and allocations may be lost")
    parser.add_argument("--report", type=Path, default=CACHE / "placement.json", help="where the JSON goes")
    return parser.parse_args(arguments)


def _runs(options: argparse.Namespace, files: Sequence[SuiteFile]) -> list[Run]:
    if options.url:
        return [_run_against(options.url, [each for each in files if each.mode is options.mode], options.erase)]
    chosen = DATABASES if options.database == "both" else (options.database,)
    return [_run_on(database, files) for database in chosen]


def _run_against(url: str, files: Sequence[SuiteFile], erase: bool) -> Run:
    """A server of somebody else's: the list of exceptions helps to read the result but is not held against it."""
    outcomes = send(url, files, erase=erase)
    found = judge(outcomes, known_exceptions(KNOWN), url)
    return Run(url, tuple(outcomes), Judgement(found.unexpected, found.expected, ()))


def _run_on(database: str, files: Sequence[SuiteFile]) -> Run:
    """A Kilonova of ours, started once for each mode that the files need."""
    outcomes: list[Outcome] = []
    with fresh_database(database) as url:
        for mode in Mode:
            if chosen := [each for each in files if each.mode is mode]:
                with KilonovaServer(url, mode) as server:
                    outcomes += send(server.url, chosen, erase=True)
                    _print_errors(server)
    outcomes.sort(key=lambda each: each.file)
    return Run(database, tuple(outcomes), judge(outcomes, known_exceptions(KNOWN), database))


def _print_errors(server: KilonovaServer) -> None:
    """The end of the server's log, where it has one: a 500 is seen with its traceback."""
    if text := server.errors().strip():
        print(f"--- the server's log ends:\n{text[-3000:]}", file=sys.stderr)


def send(url: str, files: Iterable[SuiteFile], *, erase: bool) -> list[Outcome]:
    """Run the files with the interpreter that has gabbi."""
    paths = [each.path for each in files]
    if not paths:
        return []
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "outcomes.json"
        command: list[str | Path] = [
            INTERPRETER, "-m", "tests.conformance.placement.gabbi_process",
            "--url", url, "--suite", paths[0].parent, "--output", output,
            *(["--erase"] if erase else []), *(path.name for path in paths),
        ]  # fmt: skip
        if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
            raise RunError(f"the suite was not run (exit status {code})")
        return from_json(json.loads(output.read_text()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
