"""Seconds from POST to ACTIVE, one instance after another, through a whole installation.

    python -m bench.create_to_active --driver test --count 20
    python -m bench.create_to_active --driver qemu --count 20      real guests; each is deleted before the next

Times are the server's own: `launched_at - created_at` of the instance.
"""

import argparse
import statistics
import tempfile
from datetime import datetime
from pathlib import Path

from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes


def one(cloud: Installation, name: str) -> float:
    """Create, wait, delete; the seconds between."""
    made = cloud.create(name)["id"]
    cloud.wait_for(lambda: cloud.call(f"instances/{made}/")["status"] in {"ACTIVE", "ERROR"})
    shown = cloud.call(f"instances/{made}/")
    assert shown["status"] == "ACTIVE", shown["fault"]
    cloud.call(f"instances/{made}/", method="DELETE")
    cloud.wait_for(lambda: not cloud.instances())
    return (datetime.fromisoformat(shown["launched_at"]) - datetime.fromisoformat(shown["created_at"])).total_seconds()


def main() -> None:
    """Start an installation, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", choices=["qemu", "test", "fake"], default="test")
    parser.add_argument("--count", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        processes = Processes(Path(directory))
        cloud = Installation(processes, Path(directory) / "s", driver=chosen.driver)
        try:
            cloud.start()
            times = sorted(one(cloud, f"vm{number}") for number in range(chosen.count))
            cloud.stop()
        finally:
            processes.kill_all()
    p95 = times[max(0, round(0.95 * len(times)) - 1)]
    print(f"{chosen.driver}: {len(times)} instances, median {statistics.median(times):.2f} s, p95 {p95:.2f} s")


if __name__ == "__main__":
    main()
