"""The drill's faults: `python -m tests.drill.faults [--only NAME ...] [--environments sqlite postgres redis]`."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.drill.faults.catalogue import FAULTS
from tests.drill.faults.runner import faults_run
from tests.drill.servers import servers_check
from tests.drill.stage import Environment
from tests.fixtures.servers import ServerMissingError


def main() -> int:
    """Run them; 1 when one did not end as it must, or left something behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", metavar="NAME", help=", ".join(fault.name for fault in FAULTS))
    parser.add_argument("--environments", nargs="*", type=Environment, default=list(Environment))
    parser.add_argument("--directory", type=Path, help="short path of a directory that is kept (default: a fresh one)")
    given = parser.parse_args()
    faults = [fault for fault in FAULTS if not given.only or fault.name in given.only]
    try:
        servers_check(given.environments, has_ovn=any(fault.has_ovn for fault in faults))
    except ServerMissingError as error:
        print(f"Nothing was begun. {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="kd-") as fresh:
        outcomes = faults_run(faults, given.environments, given.directory or Path(fresh))
        bad = 0
        for outcome in outcomes:
            print(json.dumps(outcome.as_row(), default=str), flush=True)
            bad += not outcome.is_good
    print(f"{'BAD' if bad else 'ok'}: {bad} of the faults did not end as they must", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
