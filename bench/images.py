"""One image to several agents at once through the door: how fast, at what cost, and who waits for it meanwhile.

    python -m bench.images [--mib 1024] [--agents 4] [--slow 12] [--store directory]

A private PostgreSQL and the web server as `manage.py up` runs it (2 processes of 8 threads). Each agent holds the lease
of a build that names the image; what it reads it drops, in a process of its own. Printed for each round:

- cold: the file is not in the page cache. warm: it is. MiB a second of all agents together, the web server's CPU
  seconds and peak memory (the largest process), and a small GET asked every 20 ms meanwhile: median, 99th percentile,
  worst.
- slow: so many agents that take 1 MiB a second each, and the same GET. It would wait if they held the server's threads.
"""

import argparse
import http.client
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.select_destinations import DurablePostgres, set_up
from tests.fixtures.patience import eventually
from tests.fixtures.processes import ROOT
from tests.fixtures.s3_server import S3Server
from tests.fixtures.servers import free_port

HOSTS = 4
MIB = 2**20
PROBE_EVERY_S = 0.02
SLOW_BYTES_S = MIB


class Noise(io.RawIOBase):
    """So many bytes that no disk compresses."""

    def __init__(self, size: int) -> None:
        self._left, self._block = size, os.urandom(MIB)

    def read(self, size: int = -1) -> bytes:
        """At most a block."""
        piece = self._block[: min(size, self._left)]
        self._left -= len(piece)
        return piece


def cloud_make(mib: int, port: int, state: Path) -> dict[str, Any]:
    """An image, a build of it on each host, and what an agent of it sends: by the door, as agents come by it."""
    from computeagent.protocol.wire import encode  # noqa: PLC0415 - needs Django
    from computeagent.transport.address import ControlPlaneAddress  # noqa: PLC0415
    from computeagent.transport.http_conductor import HttpConductor, enrol, http_conductor  # noqa: PLC0415
    from computeagent.transport.secret_file import SecretFile  # noqa: PLC0415
    from controlplane.identity.services.tokens import token_issue  # noqa: PLC0415
    from servers.agent_api.credentials import enrolment_create  # noqa: PLC0415
    from servers.images.services.image import image_create  # noqa: PLC0415
    from servers.images.services.image_store import image_upload  # noqa: PLC0415
    from tests.worlds import cloud as world  # noqa: PLC0415

    hosts = [f"h{number}" for number in range(HOSTS)]
    who = world.cloud(*hosts)
    image = image_create(caller=None, name="big", disk_format="raw", visibility="public")
    image_upload(caller=None, image_id=image.pk, stream=Noise(mib * MIB))
    for number in range(2 * HOSTS):
        world.create(who.member, f"vm{number}", image="big")
    world.pump()
    jobs, address = [], ControlPlaneAddress(f"http://127.0.0.1:{port}")
    for host in hosts:
        secret = SecretFile(state / host)
        enrol(address, secret, host=host, token=enrolment_create(host=host).token)
        conductor = http_conductor(address, secret)
        conductor.host_own(host=host, agent_id=str(uuid.uuid5(uuid.NAMESPACE_DNS, host)), guests=[])
        order = conductor.take(host=host, work_id=conductor.waiting_work(host=host)[0].work_id, owner=f"{host}:1")
        assert order is not None
        assert isinstance(conductor, HttpConductor)
        body = encode({"lease": order.lease, "offset": 0}).decode()
        jobs.append({"headers": dict(conductor._headers(str(secret.read()))), "body": body})
    token = token_issue(username=who.member.username, password=world.PASSWORD).token
    return {"port": port, "jobs": jobs, "image": str(image.pk), "token": token, "bytes": mib * MIB}


def read_all(told: dict[str, Any], count: int, seconds: float) -> None:
    """In a process of its own: so many agents read, to the end or slowly for so long. Prints the bytes that came."""
    came = [0] * count

    def agent(number: int) -> None:
        job = told["jobs"][number % len(told["jobs"])]
        link = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=120)
        while True:
            link.request("POST", "/agent/v1/image_chunks", job["body"], job["headers"])
            answer = link.getresponse()
            if answer.status != 429:
                break
            answer.read()
            time.sleep(float(answer.headers["Retry-After"]) * random.uniform(0.75, 1.25))
        if answer.status != 200:
            raise SystemExit(f"{answer.status}: {answer.read(300)!r}")
        buffer, began = bytearray(MIB), time.monotonic()
        while (size := answer.readinto(buffer)) and (not seconds or time.monotonic() - began < seconds):
            came[number] += size
            if seconds:
                time.sleep(size / SLOW_BYTES_S)

    threads = [threading.Thread(target=agent, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not seconds and came != [told["bytes"]] * count:
        raise SystemExit(f"not all came: {came}")
    print(sum(came))


class Probe:
    """A small GET again and again, on one connection that is kept."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        self.took: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        link = http.client.HTTPConnection("127.0.0.1", self._told["port"], timeout=120)
        while not self._stop.wait(PROBE_EVERY_S):
            began = time.perf_counter()
            link.request("GET", f"/api/images/{self._told['image']}/", headers={"X-Auth-Token": self._told["token"]})
            answer = link.getresponse()
            answer.read()
            assert answer.status == 200
            self.took.append((time.perf_counter() - began) * 1000)

    def __str__(self) -> str:
        took = sorted(self.took)
        p99 = took[int(len(took) * 0.99)]
        return f"GET median {statistics.median(took):.1f}, p99 {p99:.1f}, worst {took[-1]:.1f} ms ({len(took)})"


def web_processes(port: int) -> list[Path]:
    """Of this server: the parent and its workers."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if f"127.0.0.1:{port}" in line and "manage.py web" in line:
            found.append(entry)
    return found


def cpu_s(processes: list[Path]) -> float:
    """Seconds of CPU until now."""
    fields = [(entry / "stat").read_text().rpartition(")")[2].split() for entry in processes]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def memory_mib(processes: list[Path], name: str) -> float:
    """The largest process's, now (VmRSS) or at its peak (VmHWM)."""
    lines = [dict(line.split(":", 1) for line in (each / "status").read_text().splitlines()) for each in processes]
    return max(int(each[name].split()[0]) for each in lines) / 1024


def drop_from_cache(directory: Path) -> None:
    """The kernel forgets the files' pages."""
    for path in directory.glob("*.*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def round_run(name: str, told: dict[str, Any], count: int, *, seconds: float = 0.0) -> None:
    """One round, and its line."""
    processes = web_processes(told["port"])
    for entry in processes:
        (entry / "clear_refs").write_text("5")  # the peak begins anew
    before_cpu, before = cpu_s(processes), memory_mib(processes, "VmRSS")
    words = [sys.executable, "-m", "bench.images", "--part-read", "--agents", str(count), "--seconds", str(seconds)]
    began = time.perf_counter()
    with Probe(told) as probe:
        child = subprocess.run(words, cwd=ROOT, input=json.dumps(told), check=True, stdout=subprocess.PIPE, text=True)
    took = time.perf_counter() - began
    print(
        f"  {name}: {count} agents, {int(child.stdout) / MIB / took:.0f} MiB/s, {took:.1f} s; web: "
        f"{cpu_s(processes) - before_cpu:.2f} s of CPU, memory {before:.0f} MiB before, "
        f"{memory_mib(processes, 'VmHWM'):.0f} at the peak; {probe}",
        flush=True,
    )


@contextmanager
def installation(options: argparse.Namespace) -> Iterator[tuple[int, Path]]:
    """Servers and the settings that name them; the port of the web server, and the state directory."""
    with ExitStack() as stack:
        server = stack.enter_context(DurablePostgres())
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {"DATABASE_URL": server.create_database(), "KILONOVA_STATE": str(state), "LOG_LEVEL": "WARNING"}
        settings |= {"LEASE_S": "900", "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev"}
        if options.store == "s3":
            settings |= stack.enter_context(S3Server()).settings()
        os.environ.update(settings)
        set_up()
        from django.core.management import call_command  # noqa: PLC0415 - needs settings

        from controlplane.launcher.children import web_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        port = free_port()
        web = stack.enter_context(subprocess.Popen(web_command(port), cwd=ROOT))
        stack.callback(web.terminate)
        eventually(lambda: len(web_processes(port)) > 1, "the web server runs")
        time.sleep(3.0)
        yield port, state


def main() -> None:
    """All rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--slow", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the slow ones read")
    parser.add_argument("--store", choices=["directory", "s3"], default="directory")
    parser.add_argument("--part-read", action="store_true", help="used by this script for its child")
    options = parser.parse_args()
    if options.part_read:
        read_all(json.load(sys.stdin), options.agents, options.seconds)
        return
    with installation(options) as (port, state):
        told = cloud_make(options.mib, port, state / "agents")
        print(f"{options.mib} MiB from {options.store}, load {os.getloadavg()[0]:.1f}", flush=True)
        with Probe(told) as alone:
            time.sleep(5.0)
        print(f"  nobody reads: {alone}")
        for name in ("cold", "warm"):
            if name == "cold":
                drop_from_cache(state / "images")
            round_run(name, told, options.agents)
        if options.slow:
            round_run("slow", told, options.slow, seconds=options.seconds)


if __name__ == "__main__":
    main()
