"""The processes of an installation: web server, conductor, one agent per hypervisor."""

import sys
from collections.abc import Mapping
from pathlib import Path

from controlplane.kernel.state_parts import StatePart
from controlplane.launcher.hypervisors import Hypervisor
from controlplane.launcher.options import UpOptions
from controlplane.launcher.supervisor import ChildSpec
from controlplane.work.conf import work_options

ROOT = Path(__file__).resolve().parent.parent.parent
MANAGE = str(ROOT / "manage.py")
WEB_PROCESSES = 2
WEB_THREADS = 8
WEB_GRACE_S = 5
WEB_ENDS_S = 3
"""Seconds that a web server has after the grace of its requests, before its supervisor kills it."""
NOTHING_OF_THE_CONTROL_PLANE = {"DATABASE_URL": "", "REDIS_URL": "", "SECRET_KEY": "", "SECRET_KEY_FALLBACKS": ""}
"""What an agent must do without, here as on any hypervisor."""


def child_specs(options: UpOptions, hypervisors: list[Hypervisor], env: Mapping[str, str]) -> list[ChildSpec]:
    """Every process to keep running. `env` holds the settings that they all share."""
    logs = options.state_dir / StatePart.LOGS

    def spec(name: str, *command: str, **more: str) -> ChildSpec:
        return ChildSpec(name=name, command=command, log=logs / f"{name}.log", env={**env, **more}, cwd=ROOT)

    return [
        spec("web", *web_command(options.port, grace_s=int(work_options().stop_limit_s) - WEB_ENDS_S)),
        spec("conductor", sys.executable, MANAGE, "conductor", "--workers", str(options.workers)),
        *(
            spec(f"agent-{each.host}", *agent_command(each, options.port), **NOTHING_OF_THE_CONTROL_PLANE)
            for each in hypervisors
        ),
    ]


def agent_command(hypervisor: Hypervisor, port: int) -> tuple[str, ...]:
    """The agent of one hypervisor, as on any other machine: it knows an address, and has a secret of its own."""
    arguments: tuple[str, ...] = (
        sys.executable, "-m", "computeagent", "--control-plane", f"http://127.0.0.1:{port}",
        "--host", hypervisor.host, "--libvirt-uri", hypervisor.uri,
        "--state", str(hypervisor.state_dir), "--image-cache", str(hypervisor.image_cache),
    )  # fmt: skip
    if hypervisor.network_directory is not None:
        arguments += ("--network-directory", str(hypervisor.network_directory))
    elif hypervisor.uri.startswith("qemu:"):
        arguments += ("--network-backend", "none")
    for pool in hypervisor.pools:
        arguments += ("--volume-pool", pool)
    share = hypervisor.share
    if share is None:
        return arguments
    return (
        *arguments, "--vcpus", str(share.vcpus), "--memory-mib", str(share.memory_mib),
        "--disk-gib", str(share.disk_gib),
    )  # fmt: skip


def web_command(
    port: int, *, processes: int = WEB_PROCESSES, threads: int = WEB_THREADS, grace_s: int = WEB_GRACE_S
) -> tuple[str, ...]:
    """The web server on one port of loopback; requests have `grace_s` to end in when it is stopped."""
    return (
        sys.executable, MANAGE, "web", "--bind", f"127.0.0.1:{port}",
        "--processes", str(processes), "--threads", str(threads), "--grace", str(grace_s),
    )  # fmt: skip
