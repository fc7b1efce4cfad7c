"""`manage.py conductor`: does the conductor's work and reconciles."""

import os
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from controlplane.infra.cluster import CrashOnlyCluster, ProcessTree
from controlplane.infra.doorbells import doorbell_ring
from controlplane.infra.jobs import CANARY, CANARY_FRESH_S, worker_name
from controlplane.infra.reconcile import chores_run, reconcile_once
from controlplane.infra.solo import lease_is_held, lease_renew
from controlplane.infra.work import CONDUCTOR_QUEUE

CANARY_EVERY_S = 5.0


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT. A supervisor starts it again when it dies: it is crash-only."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("--workers", type=int, default=settings.Q_CLUSTER["workers"], help="processes that work")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the cluster and its periodic work."""
        started = time.monotonic()

        def check_canary() -> None:
            doorbell_ring(queue=CONDUCTOR_QUEUE, code=CANARY, ref="conductor")
            if time.monotonic() - started > CANARY_FRESH_S and not lease_is_held("conductor-canary"):
                ProcessTree().end("no worker answered a canary")

        def reconcile() -> None:
            interval = settings.KILONOVA["RECONCILE_INTERVAL_S"]
            if lease_renew(name="reconcile", owner=worker_name(), seconds=interval * 3):
                reconcile_once()
                chores_run()

        cluster = CrashOnlyCluster(queue=CONDUCTOR_QUEUE, workers=options["workers"])
        self.stdout.write(f"conductor {os.getpid()} serves with {options['workers']} workers")
        doorbell_ring(queue=CONDUCTOR_QUEUE, code=CANARY, ref="conductor")
        cluster.run([(CANARY_EVERY_S, check_canary), (settings.KILONOVA["RECONCILE_INTERVAL_S"], reconcile)])
