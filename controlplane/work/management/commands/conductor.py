"""`manage.py conductor`: does the conductor's work and reconciles."""

import os
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from controlplane.work.cluster import CrashOnlyCluster
from controlplane.work.conf import work_options
from controlplane.work.jobs import CANARY_EVERY_S, CANARY_LEASE, CONDUCTOR_THREADS, worker_name
from controlplane.work.long_work import LongWorkThreads
from controlplane.work.named_leases import lease_renew
from controlplane.work.reconcile import reconcile_round
from controlplane.work.work import CONDUCTOR_QUEUE


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT. A supervisor starts it again when it dies: it is crash-only."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("--workers", type=int, default=settings.Q_CLUSTER["workers"], help="processes that work")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the cluster and its periodic work."""
        owner, interval = worker_name(), work_options().reconcile_interval_s
        fresh_s = work_options().conductor_canary_silence_s
        cluster = CrashOnlyCluster(queue=CONDUCTOR_QUEUE, workers=options["workers"])

        def speak_for_the_busy() -> None:
            """No canary is answered while every worker has its hands full, and yet there is a conductor."""
            if cluster.heartbeat.is_busy:
                lease_renew(name=CANARY_LEASE, owner=owner, seconds=fresh_s, steal=True)

        self.stdout.write(f"conductor {os.getpid()} serves with {options['workers']} workers")
        cluster.run(
            threads=[
                LongWorkThreads(cluster.stopping).run,
                *(partial(run, cluster.stopping) for run in CONDUCTOR_THREADS.values()),
            ],
            periodic=[
                (CANARY_EVERY_S, speak_for_the_busy),
                (interval, lambda: reconcile_round(owner=owner, seconds=interval * 3)),
            ],
        )
