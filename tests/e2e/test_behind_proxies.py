"""Two web machines on one PostgreSQL behind nginx, and behind Caddy, as install/web configures them; agents show
certificates of their own.
"""

import asyncio
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from computeagent.protocol.conductor import Conductor
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import enrol, http_conductor
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.errors import Unavailable
from controlplane.launcher.children import web_command
from tests.fixtures.installation import Installation
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import Processes
from tests.fixtures.proxies import NAME, Caddy, Certificates, Nginx, Proxy, certificates_make
from tests.fixtures.servers import free_port

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.long]

ADDRESS_OF_THE_ALLOWED = "127.0.0.7"
IMAGE_BYTES = 24 * 2**20
ANSWERS_S = 60.0
STALLING = 60
CONSOLES = 12
"""Of four ways, two of them between the machines, none is left out but once in thousands of runs."""
BEFORE_ANY_POLL_S = 20.0
"""An agent that hears of work by no wake-up finds it after half a minute."""


@dataclass
class Site:
    """What stands behind the proxies: `cloud` is the first web machine, `second` the port of the other one."""

    cloud: Installation
    second: int
    certificates: Certificates

    def web_start(self) -> "subprocess.Popen[bytes]":
        """The second machine, ready."""
        process = self.cloud.processes.start(web_command(self.second), env=self.cloud.env)
        eventually(lambda: answers(self.second), "the second web machine answers")
        return process

    def machines(self) -> tuple[str, str]:
        """Their addresses."""
        return f"127.0.0.1:{self.cloud.port}", f"127.0.0.1:{self.second}"


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def site(module_processes: Processes, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    env = {
        "DATABASE_URL": postgres_url,
        "TRUSTED_PROXIES": "1",
        "METRICS_ALLOW": ADDRESS_OF_THE_ALLOWED,
        "CONSOLE_RELAY_ADDRESS": "127.0.0.1",
        "SERVICE_DOWN_TIME_S": "180",  # a third of it is how long a poll may last
    }
    cloud = Installation(module_processes, directory / "state", driver="fake", hypervisors=1, env=env).start()
    yield Site(cloud, free_port(), certificates_make(directory / "tls"))
    cloud.stop()


@pytest.fixture(params=[Nginx, Caddy])
def proxy(request: pytest.FixtureRequest, site: Site, processes: Processes, tmp_path: Path) -> Proxy:
    made: Proxy = request.param(tmp_path / "proxy", site.certificates, site.machines())
    return made.start(processes)


def control_plane(proxy: Proxy, shown: tuple[Path, Path] | None) -> ControlPlaneAddress:
    """As an agent reaches it that shows this certificate, or none."""
    certificate, key = map(str, shown) if shown else ("", "")
    return ControlPlaneAddress(proxy.url, str(proxy.certificates.authority), certificate, key)


def token_of(site: Site, host: str) -> str:
    made = site.cloud.call("hosts/enrolments/", {"host": host})
    return str(made["token"])


def api(proxy: Proxy, token: str, path: str, body: Any = None, *, source: str = "127.0.0.1", **headers: str) -> Any:
    """(status, answer) of a person's request, which shows no certificate, from an address of this machine."""
    trust = ssl.create_default_context(cafile=str(proxy.certificates.authority))
    connection = http.client.HTTPSConnection(
        NAME, proxy.port, context=trust, source_address=(source, 0), timeout=PATIENCE_S
    )
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    method = "GET" if body is None else "PUT" if isinstance(body, bytes) else "POST"
    try:
        connection.request(method, path, data, {"Content-Type": kind, "X-Auth-Token": token, **headers})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return answer.status, (json.loads(text) if text.startswith((b"{", b"[")) else text)


def agent_start(site: Site, proxy: Proxy, program: str, host: str, processes: Processes, tmp_path: Path) -> None:
    certificate, key = proxy.certificates.agent
    config = tmp_path / f"{host}.conf"
    lines = {
        "control-plane": proxy.url, "host": host, "state": tmp_path / host, "libvirt-uri": f"fake:///{host}",
        "ca-file": proxy.certificates.authority, "cert-file": certificate, "key-file": key,
    }  # fmt: skip
    config.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    processes.start([program, f"@{config}"], env={"KILONOVA_ENROL_TOKEN": token_of(site, host)}, cwd=tmp_path)
    site.cloud.wait_for(lambda: any(one["host"] == host for one in site.cloud.call("hosts/")["results"]))


def status_of(site: Site, instance: str) -> str:
    return str(site.cloud.call(f"instances/{instance}/")["status"])


def test_site_behind_a_proxy(site: Site, proxy: Proxy, agent_venv: Path, processes: Processes, tmp_path: Path) -> None:
    second = site.web_start()
    host = f"cmp-{uuid.uuid4().hex[:6]}"
    agent_start(site, proxy, str(agent_venv / "bin/kilonova-agent"), host, processes, tmp_path)
    people_are_known_by_their_addresses(proxy, site.cloud.token)
    instance = image_goes_through_both_ways(site, proxy, host)
    wakeups_cross_from_machine_to_machine(site, instance)
    consoles_cross_from_machine_to_machine(proxy, site.cloud.token, instance)
    clients_that_stall_hold_up_nobody(site, proxy)
    poll_outlives_a_reload(site, proxy, tmp_path)
    machine_dies(site, proxy, second, instance)
    assert "temporary file" not in proxy.log()


def people_are_known_by_their_addresses(proxy: Proxy, token: str) -> None:
    """A proxy's word counts, and what a client says of itself does not."""
    assert api(proxy, token, "/metrics", source=ADDRESS_OF_THE_ALLOWED)[0] == 200
    lie = {"X-Forwarded-For": ADDRESS_OF_THE_ALLOWED}
    assert api(proxy, "", "/metrics", **lie)[0] == 403


def image_goes_through_both_ways(site: Site, proxy: Proxy, host: str) -> str:
    """Uploaded by a person, downloaded by the agent, which verifies its checksum; neither is stored by the proxy."""
    token, data = site.cloud.token, random.Random(7).randbytes(IMAGE_BYTES)
    status, image = api(proxy, token, "/api/images/", {"name": f"of {host}", "disk_format": "raw"})
    assert status == 201, image
    status, image = api(proxy, token, f"/api/images/{image['id']}/file/", data)
    assert status == 200, image
    assert hashlib.sha256(data).hexdigest() == image["checksum_sha256"]
    where = {"availability_zone": f"nova:{host}", "flavor": "m1.nano"}
    status, made = api(proxy, token, "/api/instances/", {"name": "there", "image": image["id"], **where})
    assert status in {201, 202}, made
    site.cloud.wait_for(lambda: status_of(site, made["id"]) == "ACTIVE")
    return str(made["id"])


def wakeups_cross_from_machine_to_machine(site: Site, instance: str) -> None:
    """The agent's poll waits at one of the two machines; it is asked for by the one and by the other."""
    for action, port, reached in (
        ("stop", site.second, "SHUTOFF"), ("start", site.second, "ACTIVE"),
        ("stop", site.cloud.port, "SHUTOFF"), ("start", site.cloud.port, "ACTIVE"),
    ):  # fmt: skip
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/instances/{instance}/actions/",
            data=json.dumps({"action": action}).encode(),
            headers={"Content-Type": "application/json", "X-Auth-Token": site.cloud.token},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S):
            pass
        site.cloud.wait_for(lambda wanted=reached: status_of(site, instance) == wanted)  # type: ignore[misc]


def consoles_cross_from_machine_to_machine(proxy: Proxy, token: str, instance: str) -> None:
    """Browser and host come each to a process of one of both machines, as the proxy has it: what is typed comes back by
    all ways, those over the network of the machines among them.
    """
    for number in range(CONSOLES):
        status, access = api(proxy, token, f"/api/instances/{instance}/consoles/", {"kind": "serial"})
        assert status == 201, access
        asyncio.run(console_answers(proxy, access["token"], b"typed %d" % number))


async def console_answers(proxy: Proxy, token: str, typed: bytes) -> None:
    # Not the library's threads, which use one TLS connection at the same time.
    trust = ssl.create_default_context(cafile=str(proxy.certificates.authority))
    protocols = [Subprotocol("binary"), Subprotocol(f"kilonova.token.{token}")]
    address = f"{proxy.url.replace('https', 'wss', 1)}/consoles/stream/"
    async with connect(
        address, subprotocols=protocols, ssl=trust, compression=None, proxy=None, open_timeout=ANSWERS_S
    ) as console:
        said = b""
        while not said.endswith(b"\n"):
            said += bytes(await asyncio.wait_for(console.recv(), ANSWERS_S))  # type: ignore[arg-type]
        await console.send(typed)
        assert await asyncio.wait_for(console.recv(), ANSWERS_S) == typed


def clients_that_stall_hold_up_nobody(site: Site, proxy: Proxy) -> None:
    """More of them than all web processes have threads, with bodies and with uploads of one image."""
    token = site.cloud.token
    status, image = api(proxy, token, "/api/images/", {"name": "never whole", "disk_format": "raw"})
    assert status == 201, image
    trust = ssl.create_default_context(cafile=str(proxy.certificates.authority))
    heads = [("POST", "/api/instances/", "application/json")] * STALLING
    heads += [("PUT", f"/api/images/{image['id']}/file/", "application/octet-stream")] * STALLING
    with ExitStack() as stack:
        for method, path, kind in heads:
            link = stack.enter_context(socket.create_connection((NAME, proxy.port), timeout=PATIENCE_S))
            link = stack.enter_context(trust.wrap_socket(link, server_hostname=NAME))
            link.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: {NAME}\r\nX-Auth-Token: {token}\r\n"
                f"Content-Type: {kind}\r\nContent-Length: 1000000\r\n\r\n{'x' * 9000}".encode()
            )
        assert api(proxy, token, "/healthz")[0] == 200
        where = {"availability_zone": "nova:hv-1", "flavor": "m1.nano"}  # others' agents may have died a moment ago
        status, made = api(proxy, token, "/api/instances/", {"name": "meanwhile", "image": "placeholder", **where})
        assert status in {201, 202}, made
        site.cloud.wait_for(lambda: status_of(site, made["id"]) == "ACTIVE")


def enrolled(site: Site, proxy: Proxy, tmp_path: Path) -> tuple[str, Conductor]:
    """A host whose agent is this process. Without a certificate of the authority it would not have come in."""
    host, secret = f"probe-{uuid.uuid4().hex[:6]}", SecretFile(tmp_path / "probe")
    token = token_of(site, host)
    with pytest.raises(Unavailable, match=r"HTTP 403, not by the control plane"):
        enrol(control_plane(proxy, None), secret, host=host, token=token)
    forged = certificates_make(tmp_path / "forged").agent
    with pytest.raises(Unavailable, match=r"HTTP 400, not by the control plane|does not answer"):
        enrol(control_plane(proxy, forged), secret, host=host, token=token)
    certified = control_plane(proxy, proxy.certificates.agent)
    enrol(certified, secret, host=host, token=token)
    conductor = http_conductor(certified, secret)
    conductor.host_own(host=host, agent_id=str(uuid.uuid4()), guests=[])
    return host, conductor


def poll_outlives_a_reload(site: Site, proxy: Proxy, tmp_path: Path, seconds: float = 3.0) -> None:
    host, conductor = enrolled(site, proxy, tmp_path)
    with ThreadPoolExecutor() as pool:
        began = time.monotonic()
        poll = pool.submit(conductor.wakeups, host=host, timeout_s=seconds)
        threading.Event().wait(0.5)
        proxy.reload()
        assert poll.result() == []
        assert time.monotonic() - began >= seconds - 0.5
    assert conductor.wakeups(host=host, timeout_s=0.0) == []


def machine_dies(site: Site, proxy: Proxy, second: "subprocess.Popen[bytes]", instance: str) -> None:
    """People notice nothing from the next request on; the agent asks again, and comes to the other machine."""
    os.killpg(second.pid, signal.SIGKILL)
    second.wait()
    token = site.cloud.token
    assert [api(proxy, token, f"/api/instances/{instance}/")[0] for _ in range(10)] == [200] * 10
    for action, reached in (("stop", "SHUTOFF"), ("start", "ACTIVE")):
        status, said = api(proxy, token, f"/api/instances/{instance}/actions/", {"action": action})
        assert status in {200, 202}, said
        site.cloud.wait_for(lambda wanted=reached: status_of(site, instance) == wanted)  # type: ignore[misc]


def test_silent_polls_last_their_whole_minute(site: Site, processes: Processes, tmp_path: Path) -> None:
    """Behind both at the same time."""
    alone, agents = (site.machines()[0], site.machines()[0]), []
    for kind in (Nginx, Caddy):
        directory = tmp_path / kind.__name__
        directory.mkdir()
        proxy: Proxy = kind(directory / "proxy", site.certificates, alone).start(processes)
        eventually(lambda proxy=proxy: is_open(proxy), "the proxy answers")  # type: ignore[misc]
        agents.append(enrolled(site, proxy, directory))

    def silent_s(agent: tuple[str, Conductor]) -> float:
        host, conductor = agent
        began = time.monotonic()
        assert conductor.wakeups(host=host, timeout_s=60.0) == []
        return time.monotonic() - began

    with ThreadPoolExecutor() as pool:
        assert all(seconds >= 59 for seconds in pool.map(silent_s, agents))


def is_open(proxy: Proxy) -> bool:
    try:
        return bool(api(proxy, "", "/healthz")[0] == 200)
    except OSError:
        return False
