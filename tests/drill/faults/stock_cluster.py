"""A conductor on django-q2's own cluster, as it comes: the negative control of our crash-only tree.

Everything else is the product's: its queue, its broker, its workers' code, its reconciler in the main process.
"""

import time

from django import db
from django.conf import settings
from django_q.cluster import Cluster
from django_q.conf import Conf

from controlplane.work.jobs import worker_name
from controlplane.work.reconcile import reconcile_round
from controlplane.work.work import CONDUCTOR_QUEUE


def main(_arguments: list[str]) -> int:
    """Run until killed."""
    Conf.CLUSTER_NAME, Conf.WORKERS = CONDUCTOR_QUEUE, 1
    interval = settings.KILONOVA["RECONCILE_INTERVAL_S"]
    db.connections.close_all()
    cluster = Cluster()  # kept: its events live as long as it does
    cluster.start()
    while True:
        time.sleep(interval)
        db.close_old_connections()
        reconcile_round(owner=worker_name(), seconds=interval * 3)
