"""kill -9 of the web server, all its processes, while a hundred agents wait for their polls to be answered."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import enrol
from computeagent.transport.secret_file import SecretFile
from tests.drill.faults.fault import Evidence, Fault, expect, is_active, make, runs_on, until
from tests.drill.faults.gateways import Silences
from tests.drill.faults.wakeups import send_wakeup
from tests.drill.json_socket import ask
from tests.drill.stage import NOTHING_OF_THE_CONTROL_PLANE, ROOT, SETTINGS, Stage

CROWD = 100
AWAY_S = 1.0
WAIT_AGAIN_S = 20.0
HEARD_S = 20.0
WAITED_S = 3.0
DOWN_S = float(SETTINGS["SERVICE_DOWN_TIME_S"])


def web_killed(stage: Stage) -> Evidence:
    """All of them wait again once it is back, no host was ever down, and every wake-up of the meantime is heard."""
    hosts = [f"c{number}" for number in range(1, CROWD + 1)]
    web = stage.processes["web"]
    with _crowd(stage, hosts) as socket:
        until(lambda: _waiting(socket, WAITED_S) == CROWD, 60, f"{CROWD} agents wait")
        with Silences(stage).watched() as silences:
            building = [make(stage) for _ in range(3)]
            web.kill_for_good()
            refs = {host: str(uuid.uuid4()) for host in hosts}
            for host, ref in refs.items():
                send_wakeup(stage, f"compute.{host}", "build", ref)
            time.sleep(AWAY_S)
            web.start()
            back = until(lambda: _waiting(socket) == CROWD, WAIT_AGAIN_S, f"{CROWD} agents wait again")
            heard = until(lambda: _heard(socket, refs), HEARD_S, "each hears the wake-up that came meanwhile")
            for uid in building:
                until(partial(is_active, stage, uid), 90, f"{uid}, asked for right before, is ACTIVE")
                expect(len(runs_on(stage, uid)) == 1, f"{uid} runs once")
            until(lambda: _waiting(socket, WAITED_S) == CROWD, 60, "all wait in peace")
        longest = silences.expect_below(DOWN_S)
    expect(set(hosts) <= silences.longest.keys(), "every host was watched")
    return {"agents": CROWD, "wait_again_s": back, "heard_s": heard, "longest_silence_s": longest}


@contextmanager
def _crowd(stage: Stage, hosts: list[str]) -> Iterator[Path]:
    """They run, each enrolled by a token as a person would do it; the value is where they can be asked."""
    url = f"http://127.0.0.1:{stage.client.port}"
    state, socket = stage.directory / "crowd", stage.directory / "ears" / "crowd"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(partial(_enrol, stage, url, state), hosts))
    command = [sys.executable, "-m", "tests.drill.faults.waiting_crowd", url, str(state), str(socket), *hosts]
    with (stage.directory / "logs" / "crowd.log").open("ab") as log:
        crowd = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            env={**os.environ, **NOTHING_OF_THE_CONTROL_PLANE},
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )
    try:
        yield socket
    finally:
        crowd.kill()
        crowd.wait()


def _enrol(stage: Stage, url: str, state: Path, host: str) -> None:
    made = stage.client.call("hosts/enrolments/", {"host": host})
    expect(made.is_ok, f"a token is made: {made}")
    enrol(ControlPlaneAddress(url), SecretFile(state / host), host=host, token=str(made.body["token"]))


def _waiting(socket: Path, seconds: float = 0.0) -> int:
    """How many have been waiting for so long now."""
    polls: Mapping[str, Any] = ask(socket, {"ask": "polls"})
    return sum(one["waits_s"] >= seconds for one in polls.values())


def _heard(socket: Path, refs: Mapping[str, str]) -> bool:
    polls: Mapping[str, Any] = ask(socket, {"ask": "polls"})
    return all(ref in polls[host]["heard"] for host, ref in refs.items())


FAULTS = (
    # A stage of its own: the hosts of the crowd stay in its database.
    Fault("web-killed-with-waiting-agents", web_killed, settings={"DEFAULT_QUOTA_INSTANCES": "500"}),
)
