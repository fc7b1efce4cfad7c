"""The life of `manage.py up`: prepare, start, watch, stop."""

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from django.db import connections

from computeagent.networks.places.machine import machine_routes
from controlplane.identity.openstack.clouds_yaml import FILE_NAME
from controlplane.identity.services import AdminBootstrap
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.state_parts import StatePart
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.children import child_specs
from controlplane.launcher.demo_image.sources import packages_missing
from controlplane.launcher.hypervisors import Hypervisor, hypervisor_enrol, hypervisors_prepare
from controlplane.launcher.networks import networks_prepare
from controlplane.launcher.options import HypervisorKind, UpOptions, choose_kind
from controlplane.launcher.seed import (
    DEMO_IMAGE,
    PLACEHOLDER_IMAGE,
    admin_prepare,
    database_migrate,
    demo_image_prepare,
    flavors_prepare,
    placeholder_image_prepare,
)
from controlplane.launcher.seed_networks import networks_seed
from controlplane.launcher.state_directory import state_directory_prepare
from controlplane.launcher.state_lock import StateLock
from controlplane.launcher.supervisor import POLL_S, ChildDied, Supervisor
from controlplane.launcher.web_probe import require_free_port, why_not_ready
from controlplane.launcher.welcome import Welcome
from controlplane.work.conf import work_options

READY_POLL_S = 0.3
SLOW_START_S = 60.0
LAST_WORDS_BYTES = 1000
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequest:
    """Counts the signals that ask for an end: the first asks nicely, the second is in a hurry."""

    def __init__(self) -> None:
        self.count = 0
        self.asked_by = ""
        for number in STOP_SIGNALS:
            signal.signal(number, self._count)

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def hurried(self) -> bool:
        """Whether somebody asked twice: then nobody waits for a graceful end."""
        return self.count > 1

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.asked_by = signal.Signals(number).name


class StoppedEarly(Exception):
    """A stop was asked for before everything was ready."""


def up_run(options: UpOptions, announcer: Announcer) -> None:
    """Return when the installation was asked to stop and has stopped. Raises KilonovaError when it cannot start."""
    state_directory_prepare(options.state_dir)
    with StateLock(options.state_dir):
        require_free_port(options.port)
        stop = StopRequest()
        try:
            prepared = _prepare(options, announcer, stop)
        except StoppedEarly:
            return
        _run(options, announcer, prepared, stop)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be run. `has_hosts`: one of this machine's hypervisors may take VMs, so the first is waited for."""

    welcome: Welcome
    hypervisors: list[Hypervisor]
    has_hosts: bool


def _prepare(options: UpOptions, announcer: Announcer, stop: StopRequest) -> Prepared:
    choice = choose_kind(options.kind) if options.hypervisors else None
    if choice is not None and choice.because:
        announcer.warn(
            f"no real hypervisor here, so simulated ones ({choice.kind}). Missing: {'; '.join(choice.because)}"
        )
    cache = options.state_dir / StatePart.CACHE
    with _step(announcer, stop, "Database"):
        database_migrate()
    with _step(announcer, stop, "Admin and flavors"):
        admin = admin_prepare(options.admin_password_file)
        flavors_prepare()
    if admin.created and options.admin_password_file is None:
        # Now, because it is stored as a hash only and this start may still be cut off.
        announcer.line(f"  password of admin, told once: {admin.password}")
    if choice is None:
        return Prepared(_prepared_alone(options, announcer, stop, admin), [], has_hosts=False)
    is_real = choice.kind is HypervisorKind.QEMU
    with _step(announcer, stop, "Demo image" if is_real else "Placeholder image"):
        (demo_image_prepare if is_real else placeholder_image_prepare)(cache)
    public_cidr = networks_prepare(options.state_dir, announcer, count=options.hypervisors) if is_real else ""
    with _step(announcer, stop, f"{options.hypervisors} hypervisors ({choice.kind})"):
        hypervisors = hypervisors_prepare(
            choice.kind, count=options.hypervisors, state_dir=options.state_dir, has_networks=bool(public_cidr)
        )
        has_hosts = _any_enrolled(hypervisors, announcer)
    if public_cidr:
        os.environ.setdefault("NETWORK_KIND", "bridge")  # what projects make, in all that is started here
        with _step(announcer, stop, "Networks"):
            networks_seed(public_cidr, taken=machine_routes())
    connections.close_all()  # nothing of ours stays open beside those who serve
    image = DEMO_IMAGE if is_real else PLACEHOLDER_IMAGE
    welcome = Welcome(
        options.port, admin, image, password_file=options.admin_password_file, state_dir=options.state_dir
    )
    return Prepared(welcome, hypervisors, has_hosts)


def _any_enrolled(hypervisors: list[Hypervisor], announcer: Announcer) -> bool:
    """Those that an admin locked out start too, and wait until one lets them in again. Whether there are others."""
    enrolled = 0
    for hypervisor in hypervisors:
        try:
            hypervisor_enrol(hypervisor)
            enrolled += 1
        except Forbidden as error:
            announcer.warn(f"{hypervisor.host}: {error.message}")
    return enrolled > 0


def _prepared_alone(options: UpOptions, announcer: Announcer, stop: StopRequest, admin: AdminBootstrap) -> Welcome:
    """Without hypervisors of this machine: the demo image is made where it can be, for those from elsewhere."""
    image = None
    if missing := packages_missing():
        announcer.warn(f"no demo image. Missing: {', '.join(missing)}")
    else:
        image = DEMO_IMAGE
        with _step(announcer, stop, "Demo image"):
            demo_image_prepare(options.state_dir / StatePart.CACHE)
    connections.close_all()
    return Welcome(
        options.port,
        admin,
        image,
        password_file=options.admin_password_file,
        hypervisors=0,
        state_dir=options.state_dir,
    )


class _step:  # noqa: N801 - reads as a statement
    """A step of the announcer that is not begun when a stop was asked for."""

    def __init__(self, announcer: Announcer, stop: StopRequest, title: str) -> None:
        if stop:
            raise StoppedEarly
        self._inner = announcer.step(title)

    def __enter__(self) -> Callable[[str], None]:
        return self._inner.__enter__()

    def __exit__(self, *details: object) -> None:
        self._inner.__exit__(*details)  # type: ignore[arg-type]


def _run(options: UpOptions, announcer: Announcer, prepared: Prepared, stop: StopRequest) -> None:
    def report(death: ChildDied) -> None:
        last = last_line(death.log)
        announcer.warn(
            f"{death.name} ended with status {death.status}; again in {death.restart_in_s:g} s (see {death.log})"
            + (f": {last}" if last else "")
        )

    supervisor = Supervisor(child_specs(options, prepared.hypervisors, child_environment(options)), on_death=report)
    try:
        supervisor.start()
        _wait_until_ready(options.port, supervisor, announcer, stop, has_hosts=prepared.has_hosts)
        (options.state_dir / FILE_NAME).write_text(prepared.welcome.clouds_yaml())
        for line in prepared.welcome.lines():
            announcer.line(line)
        while not stop:
            supervisor.tick()
            time.sleep(POLL_S)
    except StoppedEarly:
        pass
    finally:
        with announcer.step(f"Stopping ({stop.asked_by})" if stop else "Stopping"):
            killed = supervisor.stop(limit_s=work_options().stop_limit_s, hurry=lambda: stop.hurried)
        if killed:
            announcer.warn(f"killed, because they did not end in time: {', '.join(killed)}")


def _wait_until_ready(
    port: int, supervisor: Supervisor, announcer: Announcer, stop: StopRequest, *, has_hosts: bool
) -> None:
    """Without hypervisors of this machine that may take VMs, hosts and images come later, from people."""
    started = announced = time.monotonic()
    later = frozenset() if has_hosts else frozenset({"hosts", "images"})
    what = "a VM can be created" if has_hosts else "hypervisors may come"
    with announcer.step(f"Waiting until {what}") as doing:
        while reasons := why_not_ready(port, but_not_for=later):
            if stop:
                raise StoppedEarly
            doing("; ".join(reasons))
            if time.monotonic() - announced > SLOW_START_S:
                announced = time.monotonic()
                announcer.warn(f"not ready after {announced - started:.0f} s: {'; '.join(reasons)}")
            supervisor.tick()
            time.sleep(READY_POLL_S)


def last_line(log: Path) -> str:
    """What a program wrote last, which is why it ended when it ended on purpose."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LAST_WORDS_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def child_environment(options: UpOptions) -> dict[str, str]:
    """Settings that every process must share; the rest is inherited."""
    return {
        "KILONOVA_STATE": str(options.state_dir),
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev"),
        "PYTHONUNBUFFERED": "1",
    }


def start_over(state_dir: Path) -> None:
    """Become the same command with KILONOVA_STATE set: settings were read for another directory already."""
    os.environ["KILONOVA_STATE"] = str(state_dir)
    os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - no shell is wanted here
