"""Many open consoles at one web process: what they cost while nobody types, and how soon a key is echoed.

    python -m bench.consoles [--consoles 50] [--seconds 30] [--keys 200]

A private PostgreSQL and one web process, as `manage.py up` runs it. Both ends of each console are this program: the
browser's WebSocket and the host's, which echoes what it gets. Printed:

- open: from the request of the browser to the first byte that came through, one console after another;
- memory, threads and database connections of the web process with no console, and with all of them;
- idle: its CPU, the looks at who may go on included, in shares of one core;
- echo: from a key to its echo, through the web process twice.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
import uuid

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from bench.select_destinations import DurablePostgres, set_up
from bench.streams import web_process
from computeagent.protocol.consoles import BROWSER_CONSOLE_PATH, CONSOLE_HEADER, CONSOLE_PATH, ConsoleKind
from computeagent.protocol.wire import PROTOCOL_VERSION, VERSION_HEADER

HOST, SECRET = "h00000", "kna_of-h00000"
FIRST = b"RFB 003.008\n"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--consoles", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0, help="of doing nothing")
    parser.add_argument("--keys", type=int, default=200)
    options = parser.parse_args()
    with DurablePostgres() as server, tempfile.TemporaryDirectory() as state:
        os.environ.update(
            DATABASE_URL=server.create_database(),
            KILONOVA_STATE=state,
            SECRET_KEY="only-for-benches-" + "x" * 50,
            DJANGO_SETTINGS_MODULE="controlplane.settings.dev",
            CONSOLE_SESSIONS_PER_USER=str(options.consoles),
        )
        set_up()
        from django.core.management import call_command  # noqa: PLC0415 - needs settings
        from django.db import connection  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        sessions = sessions_make(options.consoles)
        connection.close()
        with web_process() as web:
            asyncio.run(measure(web, sessions, options))


def sessions_make(count: int) -> list[tuple[str, str]]:
    """Ids and tokens of so many sessions, of two users, with the screens of as many guests."""
    from bench.agents import agent_id_of, fleet_make  # noqa: PLC0415 - needs Django
    from controlplane.identity.models import Project, RoleAssignment, User  # noqa: PLC0415
    from controlplane.identity.selectors import caller_for_user  # noqa: PLC0415
    from servers.agent_api.host_ownership import host_ownership_claim  # noqa: PLC0415
    from servers.consoles.services import console_session_create  # noqa: PLC0415
    from servers.models import Instance  # noqa: PLC0415

    fleet_make(1)
    host_ownership_claim(host=HOST, agent_id=agent_id_of(HOST), guests=())
    project, callers = Project.objects.create(name="ops"), []
    for name in ("one", "two"):
        user = User.objects.create(username=name)
        RoleAssignment.objects.create(user=user, project=project, role="member")
        callers.append(caller_for_user(user=user))
    found = []
    for number in range(count):
        instance = Instance.objects.create(
            name=f"vm-{number}", project_id=project.pk, user_id=callers[0].user_id, host=HOST, node=HOST, flavor={},
            vcpus=1, memory_mib=64, vm_state="active", power_state="running", launched_at="2026-01-01T00:00:00Z",
        )  # fmt: skip
        access = console_session_create(
            caller=callers[number % 2], instance_id=uuid.UUID(str(instance.pk)), kind=ConsoleKind.VNC
        )
        found.append((str(access.session.pk), access.token))
    return found


async def measure(web: web_process, sessions: list[tuple[str, str]], options: argparse.Namespace) -> None:
    """All that needs the web process."""
    from bench.agents import agent_id_of  # noqa: PLC0415 - needs Django
    from computeagent.protocol.wire import AGENT_HEADER  # noqa: PLC0415

    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", web.port)
            writer.close()
            break
        except OSError:
            await asyncio.sleep(0.2)
    print(f"no console:  {web.facts()}")
    root = f"ws://127.0.0.1:{web.port}"
    headers = {
        "Authorization": f"Bearer {SECRET}",
        AGENT_HEADER: agent_id_of(HOST),
        VERSION_HEADER: str(PROTOCOL_VERSION),
    }

    async def one(session_id: str, token: str) -> tuple[ClientConnection, ClientConnection, float]:
        began = time.monotonic()
        waiting = asyncio.create_task(browser(root, token))
        await asyncio.sleep(0.05)  # the host is woken once the browser is there
        while True:
            try:
                host = await connect(
                    root + CONSOLE_PATH,
                    additional_headers={**headers, CONSOLE_HEADER: session_id},
                    subprotocols=[Subprotocol("binary")],
                    compression=None,
                    proxy=None,
                )
                break
            except Exception:  # noqa: BLE001 - not opened yet
                await asyncio.sleep(0.02)
        await host.send(FIRST)
        seen = await waiting
        assert await seen.recv() == FIRST
        return seen, host, time.monotonic() - began

    ends = [await one(*each) for each in sessions]
    took = [each[2] for each in ends]
    print(f"{len(ends)} consoles: {web.facts()}; open to first byte {1000 * statistics.median(took):.0f} ms")
    await asyncio.sleep(2)
    cpu = web.cpu_s()
    await asyncio.sleep(options.seconds)
    print(f"idle:        {100 * (web.cpu_s() - cpu) / options.seconds:.1f} % of a core")
    print(f"echo:        {await echoes(ends, options.keys)}")
    for seen, host, _ in ends:
        await seen.close()
        await host.close()


async def browser(root: str, token: str) -> ClientConnection:
    """The end that a user has."""
    words = [Subprotocol("binary"), Subprotocol(f"kilonova.token.{token}")]
    return await connect(root + BROWSER_CONSOLE_PATH, subprotocols=words, compression=None, proxy=None)


async def echoes(ends: list[tuple[ClientConnection, ClientConnection, float]], count: int) -> str:
    """One key after another, each at another console, while the others are quiet."""
    took = []
    for number in range(count):
        seen, host, _ = ends[number % len(ends)]
        began = time.monotonic()
        await seen.send(b"\x04\x01\x00\x00\x00\x00\x00a")
        await host.send(await host.recv())
        await seen.recv()
        took.append(1000 * (time.monotonic() - began))
    ranked = sorted(took)
    return f"median {statistics.median(ranked):.1f} ms, p99 {ranked[int(0.99 * len(ranked)) - 1]:.1f} ms"


if __name__ == "__main__":
    main()
