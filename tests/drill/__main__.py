"""`python -m tests.drill`: kill -9 of every process of an installation at every point, and whether anything is lost.

Ends with status 1 when something is, with 2 when the drill itself broke.
"""

import argparse
import json
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.drill.act import Plan, play
from tests.drill.fault_injector import QUIET_LIMIT_S
from tests.drill.report import Outcome, as_json, as_text
from tests.drill.servers import servers_check
from tests.drill.stage import Environment
from tests.drill.without import CONTROLS
from tests.fixtures.servers import ServerMissingError

BROKEN = 2


def main() -> int:
    """See --help."""
    options = _options()
    try:
        servers_check(options.environments, has_ovn=options.simulated > 0)
    except ServerMissingError as error:
        print(f"Nothing was begun. {error}", file=sys.stderr)
        return BROKEN
    command = "python -m tests.drill " + shlex.join(sys.argv[1:])
    base = options.directory or Path(tempfile.mkdtemp(prefix="kd-", dir="/tmp"))
    outcomes: list[Outcome] = []
    began = time.monotonic()
    for number, name in enumerate(options.environments):
        kills = _share(options.kills, len(options.environments), number)
        outcomes.append(play(Environment(name), base / name, _plan(options, kills, number, outcomes), _say))
        _write(options.report, outcomes, command)
    print(as_text(outcomes, command))
    print(f"\n{time.monotonic() - began:.0f} s")
    lost = any(one.violations for one in outcomes)
    if not options.keep and not lost:
        shutil.rmtree(base, ignore_errors=True)
    else:
        print(f"Logs: {base}")
    return 1 if lost else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="kills in all (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of kills and of the load (default: 1)")
    parser.add_argument(
        "--environments",
        type=lambda text: [Environment(one).value for one in text.split(",")],
        default=[one.value for one in Environment],
        help="of sqlite,postgres,redis (PostgreSQL with Redis); default: all",
    )
    parser.add_argument("--real", type=int, default=3, help="agents with real guests, qemu:///embed (default: 3)")
    parser.add_argument(
        "--simulated", type=int, default=10, help="agents with simulated guests, test:/// (default: 10)"
    )
    parser.add_argument("--conductors", type=int, default=1, help="conductors, each a process tree (default: 1)")
    parser.add_argument("--points", default="", help="only points whose name holds one of these words (with commas)")
    parser.add_argument("--without", choices=sorted(CONTROLS), help="a negative control: the drill must then fail")
    parser.add_argument(
        "--quiet", type=float, default=QUIET_LIMIT_S, help="seconds until all is in order after a kill (default: 90)"
    )
    parser.add_argument("--report", type=Path, help="write text here, and JSON beside it as .json")
    parser.add_argument("--directory", type=Path, help="state of the installations; a short, empty place")
    parser.add_argument("--keep", action="store_true", help="leave state and logs behind")
    return parser.parse_args()


def _plan(options: argparse.Namespace, kills: int, number: int, before: list[Outcome]) -> Plan:
    return Plan(
        kills=kills,
        seed=options.seed * 1000 + number,
        real=options.real,
        simulated=options.simulated,
        conductors=options.conductors,
        only=tuple(word for word in options.points.split(",") if word),
        without=options.without or "",
        quiet_s=options.quiet,
        injected=tuple(kill.point for one in before for kill in one.kills),
    )


def _share(kills: int, parts: int, number: int) -> int:
    return kills // parts + (number < kills % parts)


def _write(path: Path | None, outcomes: list[Outcome], command: str) -> None:
    if path is not None:
        path.write_text(as_text(outcomes, command) + "\n")
        path.with_suffix(".json").write_text(json.dumps(as_json(outcomes, command), indent=1) + "\n")


def _say(text: str) -> None:
    print(text, flush=True)


def _main_or_broken() -> int:
    try:
        return main()
    except Exception:  # noqa: BLE001 - what a crash of the drill means must not look like a violation
        traceback.print_exc()
        return BROKEN


if __name__ == "__main__":
    sys.exit(_main_or_broken())
