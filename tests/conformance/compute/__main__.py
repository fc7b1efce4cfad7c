"""Run Tempest's tests of an API against Kilonova.

    python -m tests.conformance.compute [--real] [--door compute|identity|image|network|volume] [--only REGEX]

Exit status: 0 when nothing failed but what is known to, 1 when something did, 2 when the run could not be made.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.compute.cloud import cloud
from tests.conformance.compute.configuration import sections, written
from tests.conformance.compute.results import shares, skip_reasons
from tests.conformance.exceptions import judge, known_exceptions
from tests.conformance.outcomes import Outcome, from_json
from tests.conformance.report import Run, table, write_json
from tests.fixtures.processes import ROOT

CACHE = ROOT / ".conformance"
INTERPRETER = CACHE / "tempest" / "bin" / "python"
KNOWN = tuple(sorted(Path(__file__).parent.glob("known_exceptions*.toml")))
WORKERS = 2
DOORS = {
    "compute": r"^tempest\.api\.compute\.",
    "identity": r"^tempest\.api\.identity\.(v3|admin\.v3)\.",
    "image": r"^tempest\.api\.image\.",
    "network": r"^tempest\.api\.network\.",
    "volume": r"^tempest\.api\.volume\.",
}


class RunError(RuntimeError):
    """The tests could not be run; the process that tried has said why."""


def main(arguments: list[str]) -> int:
    """See the module."""
    options = _options(arguments)
    if not INTERPRETER.exists():
        print("Tempest is not installed (make .stamps/tempest)", file=sys.stderr)
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kn-tempest-") as scratch:
        directory = Path(scratch)
        with cloud(directory, is_real=options.real) as here:
            written(sections(here, directory, is_real=options.real), directory / "tempest.conf")
            try:
                outcomes, makes_servers = tested(directory, options.only or DOORS[options.door])
            except RunError as error:
                print(error, file=sys.stderr)
                return 2
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(directory / "tempest.log", options.keep)
                shutil.copytree(directory / "state" / "logs", options.keep / "logs", dirs_exist_ok=True)
    kind = "real" if options.real else "simulated"
    known = [each for path in KNOWN for each in known_exceptions(path)]
    run = Run(kind, tuple(outcomes), judge(outcomes, known, kind))
    print(*table(run), *_more(outcomes, makes_servers), sep="\n")
    print(f"{time.monotonic() - started:.0f} s")
    write_json([run], options.report)
    return 0 if run.judgement.is_good else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.compute")
    parser.add_argument("--real", action="store_true", help="on QEMU's guests and not on simulated ones")
    parser.add_argument("--door", choices=DOORS, default="compute", help="which API's tests")
    parser.add_argument("--only", metavar="REGEX", help="only tests whose names match")
    parser.add_argument("--report", type=Path, default=CACHE / "compute.json", help="where the JSON goes")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="where logs are copied to")
    return parser.parse_args(arguments)


def _more(outcomes: Sequence[Outcome], makes_servers: Sequence[str]) -> Iterator[str]:
    for reason, count in skip_reasons(outcomes):
        yield f"skipped {count:>3}: {reason}"
    for name, passed, of in shares(outcomes, makes_servers):
        yield f"{name}: {passed} of {of} passed{f', {100 * passed / of:.1f} %' if of else ''}"


def tested(directory: Path, regex: str) -> tuple[list[Outcome], list[str]]:
    """Run the tests by the configuration in this directory: what became of each, and the classes that make servers."""
    packages = _packages()
    stestr = [INTERPRETER.with_name("stestr"), "--test-path", packages / "tempest" / "test_discover"]
    stestr += ["--top-dir", packages]
    environment = {**os.environ, "TEMPEST_CONFIG_DIR": str(directory), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    # What it runs its workers with is found by its name.
    environment["PATH"] = f"{INTERPRETER.parent}:{environment.get('PATH', '')}"

    def run(*command: str | Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, env=environment, cwd=directory, check=False, **more)

    run(*stestr, "init")
    listed = directory / "tests.txt"
    listed.write_bytes(run(*stestr, "list", regex, stdout=subprocess.PIPE).stdout)
    # A class of tests goes to one worker, since its tests share what it has set up.
    run(*stestr, "run", "--group-regex", r"([^\.]*\.)*", "--concurrency", str(WORKERS), regex)
    stream = run(*stestr, "last", "--subunit", stdout=subprocess.PIPE).stdout
    output = directory / "outcomes.json"
    reader = (INTERPRETER, "-m", "tests.conformance.compute.subunit_process", "--tests", listed, "--output", output)
    if not stream or run(*reader, input=stream).returncode:
        raise RunError("there are no results")
    found = json.loads(output.read_text())
    return from_json(found["outcomes"]), found["makes_servers"]


def _packages() -> Path:
    """Where Tempest is installed."""
    line = "import tempest, pathlib; print(pathlib.Path(tempest.__file__).parent.parent)"
    return Path(subprocess.run([INTERPRETER, "-c", line], check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
