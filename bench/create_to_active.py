"""Seconds from POST to ACTIVE, one instance after another, through a whole installation, and where they go.

    python -m bench.create_to_active --driver test --count 20
    python -m bench.create_to_active --driver qemu --count 20      real guests; each is deleted before the next

Times are the server's own, but for the answer to POST, which is the client's: what follows is counted from the row that
POST writes last, so the sum is a little more than what passes. From the rows of one create: until the conductor begins,
its choice of a host and the instance's rows, until the agent begins, and the agent's steps. What the host does is
`networking`, `block_device_mapping` (the image, if the host has it not, and the disks) and `spawning`; all else is the
control plane's own share. One table has instances of an image that the host has in its cache, and one has each of an
image of its own, of --image-mib, that nobody has yet. Between two of them are --rest-s, while the one before is gone.
Where the installation has a default network, each instance is the first of it on its host. A third table has instances
without any, so that the difference is what a network adds.
"""

import argparse
import http.client
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from computeagent.drivers.libvirt.boot_sector import boot_sector
from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes

HOST_STEPS = ("networking", "block_device_mapping", "spawning")
OWN, TOTAL = "the control plane's own share", "POST to ACTIVE"
Parts = dict[str, float]


class Timed:
    """An installation of one hypervisor, whose creates are taken apart."""

    def __init__(self, cloud: Installation, rest_s: float) -> None:
        self._cloud, self._rest_s = cloud, rest_s
        self._image = cloud.call("images/")["results"][0]["id"]

    def create(self, name: str, **more: Any) -> Parts:
        """Create, wait, delete; the seconds of each part."""
        body = {"name": name, "flavor": "m1.nano", "image": self._image, **more}
        began = time.perf_counter()
        made = self._cloud.call("instances/", body)["id"]
        answered = time.perf_counter() - began
        self._cloud.wait_for(lambda: self._cloud.call(f"instances/{made}/")["status"] in {"ACTIVE", "ERROR"})
        shown = self._cloud.call(f"instances/{made}/")
        assert shown["status"] == "ACTIVE", shown["fault"]
        parts = self._parts(shown, answered)
        self._cloud.call(f"instances/{made}/?force=1", method="DELETE")
        self._cloud.wait_for(lambda: not self._cloud.instances())
        time.sleep(self._rest_s)
        return parts

    def _parts(self, shown: Mapping[str, Any], answered: float) -> Parts:
        scheduled = self._work(shown["reservation_id"], "schedule_and_build")
        build = self._work(shown["id"], "build")
        journey = self._cloud.call(f"instances/{shown['id']}/journey/")
        steps = {one["name"]: _length(one) for action in journey["actions"] for one in action["events"]}
        total = answered + _between(scheduled["created_at"], shown["launched_at"])
        host = {name: steps[name] for name in HOST_STEPS}
        before = {
            "POST until it is answered": answered,
            "until the conductor begins": _between(scheduled["created_at"], scheduled["started_at"]),
            "choice of a host, rows of the instance": _between(scheduled["started_at"], build["created_at"]),
            "until the agent begins": _between(build["created_at"], build["started_at"]),
        }
        agent = _between(build["started_at"], shown["launched_at"]) - sum(host.values())
        own = total - sum(host.values())
        return {**before, "the agent's messages": agent, **host, OWN: own, TOTAL: total}

    def _work(self, subject: str, kind: str) -> Mapping[str, Any]:
        (one,) = self._cloud.call(f"work/?subject={subject}&kind={kind}")["results"]
        return dict(one)

    def new_image(self, name: str, size_mib: int) -> str:
        """The id of an image whose bytes nobody has seen."""
        made = self._cloud.call("images/", {"name": name, "disk_format": "raw"})["id"]
        body = boot_sector(name).ljust(512, b"\0") + os.urandom(size_mib * 2**20 - 512)
        connection = http.client.HTTPConnection("127.0.0.1", self._cloud.port, timeout=120)
        headers = {"X-Auth-Token": self._cloud.token, "Content-Type": "application/octet-stream"}
        connection.request("PUT", f"/api/images/{made}/file/", body=body, headers=headers)
        answer = connection.getresponse()
        assert answer.status < 300, answer.read()
        connection.close()
        return str(made)


def _between(began: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def _length(event: Mapping[str, Any]) -> float:
    return _between(event["started_at"], event["finished_at"])


def table(title: str, rows: list[Parts]) -> str:
    """Median and 95th percentile of each part, in milliseconds."""
    lines = [f"| {title}, {len(rows)} instances | median ms | p95 ms |", "| --- | --- | --- |"]
    for name in rows[0]:
        times = sorted(one[name] * 1000 for one in rows)
        p95 = times[max(0, round(0.95 * len(times)) - 1)]
        lines.append(f"| {name} | {statistics.median(times):.0f} | {p95:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Start an installation, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", choices=["qemu", "test", "fake"], default="test")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--image-mib", type=int, default=64)
    parser.add_argument("--rest-s", type=float, default=2.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        processes = Processes(Path(directory))
        cloud = Installation(processes, Path(directory) / "s", driver=chosen.driver, hypervisors=1)
        try:
            cloud.start()
            timed = Timed(cloud, chosen.rest_s)
            timed.create("first")  # brings the image, and what QEMU can do, into caches
            cached = [timed.create(f"vm{number}") for number in range(chosen.count)]
            bare = [timed.create(f"bare{number}", networks="none") for number in range(chosen.count)]
            images = [timed.new_image(f"bench-{number}", chosen.image_mib) for number in range(chosen.count)]
            fresh = [timed.create(f"new{number}", image=image) for number, image in enumerate(images)]
            cloud.stop()
        finally:
            processes.kill_all()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, driver {chosen.driver}\n")
    print(table("image in the cache", cached), table(f"new image of {chosen.image_mib} MiB", fresh), sep="\n\n")
    print("", table("image in the cache, no network", bare), sep="\n")


if __name__ == "__main__":
    main()
