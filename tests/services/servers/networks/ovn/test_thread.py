"""The thread that tells OVN: woken by a change, one of several, and there again after OVN was away."""

import threading
from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.work.named_leases import lease_is_held
from servers.models import OvnChange, OvnCheck
from servers.networks.ovn.thread import LEASE, OvnThread
from servers.networks.services.changes import networks_changed
from servers.networks.services.ovn_changes import ovn_whole_due
from tests.fixtures.ovn import Central
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.worlds.networks import network, port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.usefixtures("database_file")]
OVN = NetworkBackendKind.OVN.value


def port_changed(pk: UUID) -> None:
    networks_changed(ports=[pk])


@pytest.fixture
def running(configured: Central) -> Iterator[Central]:
    stopping = threading.Event()
    # It waits so long that nothing but a wake-up can be what wakes it.
    thread = threading.Thread(target=OvnThread(stopping, wait_s=30.0).run)
    thread.start()
    try:
        eventually(lambda: OvnCheck.objects.filter(checked_at__isnull=False).exists())
        yield configured
    finally:  # or it keeps OVN's lock from the thread of the next test
        stopping.set()
        port_changed(port(network(kind=OVN)).pk)
        thread.join(timeout=PATIENCE_S)
        assert not thread.is_alive()
        connection.close()


def test_a_change_is_told_at_once_and_ups_are_written(running: Central) -> None:
    one = port(network(kind=OVN), "hv1")
    port_changed(one.pk)
    eventually(lambda: not OvnChange.objects.exists())
    assert lease_is_held(LEASE)
    running.nb("set", "logical_switch_port", str(one.pk), "up=true")  # as northd does

    def is_active() -> bool:
        one.refresh_from_db()
        return one.status == "ACTIVE"

    eventually(is_active)


def test_what_changed_while_ovn_was_away_is_told_when_it_is_back(running: Central) -> None:
    running.stop("nb")
    one = port(network(kind=OVN), "hv1")
    for _ in range(3):
        port_changed(one.pk)
    eventually(lambda: OvnCheck.objects.filter(is_connected=False).exists())
    assert OvnCheck.objects.get().problem
    eventually(lambda: OvnChange.objects.count() == 1)
    running.start_database("nb")
    eventually(lambda: OvnCheck.objects.filter(is_connected=True).exists())
    eventually(lambda: not OvnChange.objects.exists())
    assert running.nb("lsp-get-options", str(one.pk)) == "requested-chassis=hv1"


def test_a_database_that_was_empty_after_a_short_restart_is_written_anew_at_once(running: Central) -> None:
    one = port(network(kind=OVN), "hv1")
    port_changed(one.pk)
    eventually(lambda: not OvnChange.objects.exists())
    before = OvnCheck.objects.get()
    running.restart_empty("nb")
    eventually(lambda: running.nb("--bare", "--columns=name", "find", "Logical_Switch_Port", f"name={one.pk}"))
    eventually(lambda: not OvnChange.objects.exists())
    after = OvnCheck.objects.get()
    assert after.is_connected
    assert after.changed_at == before.changed_at, "no outage was seen: the reconnect alone made it compare"
    assert after.checked_at > before.checked_at
    assert after.differed


def test_reconnects_make_one_comparison_due(configured: Central) -> None:
    assert ovn_whole_due(after_s=30.0)
    assert not ovn_whole_due(after_s=0.0), "one is due already"
    row = OvnChange.objects.get()
    assert row.subject == "all"
    assert row.retry_at > row.noted_at, "it waits for a pause"
    assert not row.problem
