"""The life of `manage.py demo`: fill an empty state directory once, then serve it with hosts that are alive."""

import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path

from django.db import connections

from controlplane.audit_log.chain import chain_extend
from controlplane.identity.services.bootstrap import ADMIN
from controlplane.infra.db import db_now
from controlplane.kernel.errors import Conflict
from controlplane.kernel.state_parts import StatePart
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.children import ROOT, web_command
from controlplane.launcher.demo.fill import demo_fill
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.simulated_agents import SimulatedAgents, SimulatedConductor
from controlplane.launcher.options import UpOptions
from controlplane.launcher.run import StopRequest, child_environment, last_line
from controlplane.launcher.seed import admin_prepare, database_migrate
from controlplane.launcher.state_directory import state_directory_prepare
from controlplane.launcher.state_lock import StateLock
from controlplane.launcher.supervisor import ChildDied, ChildSpec, Supervisor
from controlplane.launcher.web_probe import require_free_port, why_not_ready
from controlplane.work import jobs
from controlplane.work.conf import work_options
from scheduling.conf import scheduling_options
from servers.bulk.services.run import bulk_items_follow

LOOK_S = 0.5
MEASURE_S = 60.0
RECORDS_S = 2.0


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The choices of one run."""

    state_dir: Path
    admin_password_file: Path
    hosts: int = 500
    instances: int = 5000
    seed: int = 1
    port: int = 8000
    is_served: bool = True


def demo_run(options: DemoOptions, announcer: Announcer) -> None:
    """Return when it was asked to stop, or is filled and not to be served. Raises KilonovaError."""
    state_directory_prepare(options.state_dir)
    with StateLock(options.state_dir):
        if options.is_served:
            require_free_port(options.port)
        with announcer.step("Database"):
            database_migrate()
        dead = _dead_known(options) or _filled(options, announcer)
        connections.close_all()
        if options.is_served:
            _serve(options, announcer, SimulatedAgents(dead))


def _record(options: DemoOptions) -> Path:
    """Written once the demo is whole: what it was filled with, and which of its hosts stay dead."""
    return options.state_dir / "demo.json"


def _dead_known(options: DemoOptions) -> frozenset[str]:
    """The dead hosts of a demo that was filled before; none where there is none yet."""
    path = _record(options)
    if not path.exists():
        return frozenset()
    known = json.loads(path.read_text())
    if (known["hosts"], known["instances"], known["seed"]) != (options.hosts, options.instances, options.seed):
        raise Conflict(
            f"{options.state_dir} has a demo of {known['hosts']} hosts, {known['instances']} instances and seed "
            f"{known['seed']}: ask for that one, or name another directory with --state."
        )
    return frozenset(known["dead"])


def _filled(options: DemoOptions, announcer: Announcer) -> frozenset[str]:
    admin_prepare(options.admin_password_file)
    plan = DemoPlan(options.hosts, options.instances, options.seed, db_now().replace(microsecond=0))
    logging.disable(logging.WARNING)  # it is full of failures that are meant
    try:
        dead = demo_fill(plan, admin=ADMIN, step=announcer.step)
    finally:
        logging.disable(logging.NOTSET)
    known = {"hosts": plan.hosts, "instances": plan.instances, "seed": plan.seed, "dead": sorted(dead)}
    _record(options).write_text(json.dumps(known) + "\n")
    return dead


def _serve(options: DemoOptions, announcer: Announcer, agents: SimulatedAgents) -> None:
    """The web server beside this process, which is the heartbeat and the hands of all living hosts."""

    def report(death: ChildDied) -> None:
        announcer.warn(f"{death.name} ended with status {death.status}: {last_line(death.log)}")

    stop = StopRequest()
    up = UpOptions(state_dir=options.state_dir, port=options.port, hypervisors=0)
    log = options.state_dir / StatePart.LOGS / "web.log"
    web = ChildSpec("web", web_command(options.port), log, env=child_environment(up), cwd=ROOT)
    supervisor, conductor = Supervisor([web], on_death=report), SimulatedConductor()
    supervisor.start()
    try:
        due = {"heartbeat": 0.0, "measure": 0.0, "records": 0.0}
        is_announced = False
        while not stop:
            _tend(agents, conductor, due)
            supervisor.tick()
            if not is_announced and not _why_not_served(options.port):
                is_announced = True
                announcer.line(
                    f"\nThe demo runs at http://127.0.0.1:{options.port}/ (log in as admin). Ctrl-C ends it."
                )
    finally:
        conductor.close()
        supervisor.stop(limit_s=work_options().stop_limit_s, hurry=lambda: stop.hurried)


def _why_not_served(port: int) -> list[str]:
    """Nothing is reconciled here, so that what is wrong stays wrong, and images have no files."""
    return why_not_ready(port, but_not_for=frozenset({"reconciler", "images", "conductor"}))


def _tend(agents: SimulatedAgents, conductor: SimulatedConductor, due: dict[str, float]) -> None:
    """One turn: be alive, and do what was asked for since the last one."""
    now = time.monotonic()
    if now >= due["heartbeat"]:
        agents.heartbeat()
        jobs.answer(jobs.CANARY, "")
        due["heartbeat"] = now + min(jobs.CANARY_EVERY_S, scheduling_options().report_interval_s)
    if now >= due["measure"]:
        agents.measure()
        due["measure"] = now + MEASURE_S
    conductor.answer(LOOK_S)
    agents.work()
    if now >= due["records"]:
        # Of what conductors do now and then only this, which changes nothing that is wrong.
        bulk_items_follow()
        chain_extend()
        due["records"] = now + RECORDS_S
