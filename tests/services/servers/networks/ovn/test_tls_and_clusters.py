"""The northbound database as production has it: by TLS with certificates of both sides, and on three servers."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.errors import Unavailable
from servers.conf import ovn_options
from servers.models import OvnChange
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.sync import changes_sync, whole_sync
from servers.networks.services.changes import networks_changed
from tests.fixtures.ovn import missing_for_ovn
from tests.fixtures.ovn_databases import ClusteredDatabase, TlsDatabase
from tests.fixtures.qemu_certificates import certificates_make
from tests.worlds.networks import network, port
from tests.worlds.ovn import until

pytestmark = [pytest.mark.django_db, pytest.mark.processes, pytest.mark.long]


@pytest.fixture
def tls(settings: Settings) -> Iterator[TlsDatabase]:
    if missing := missing_for_ovn():
        pytest.skip(missing)
    found = TlsDatabase()
    settings.KILONOVA = {**settings.KILONOVA, **found.settings}
    yield found
    found.close()


@pytest.fixture
def cluster(settings: Settings) -> Iterator[ClusteredDatabase]:
    if missing := missing_for_ovn():
        pytest.skip(missing)
    found = ClusteredDatabase()
    settings.KILONOVA = {**settings.KILONOVA, "OVN_NORTHBOUND": found.address}
    yield found
    found.close()


def port_told(northbound: Northbound) -> str:
    """A new port that OVN is told of; its id."""
    one = port(network(kind=NetworkBackendKind.OVN.value), "hv1")
    networks_changed(ports=[one.pk])
    while changes_sync(northbound):
        pass
    assert not OvnChange.objects.exists()
    return str(one.pk)


def test_all_is_written_by_tls(tls: TlsDatabase) -> None:
    northbound = Northbound.connect(ovn_options())
    try:
        port_told(northbound)
        assert whole_sync(northbound) == 0
    finally:
        northbound.close()


@pytest.mark.parametrize(
    ("setting", "file", "reason"),
    [
        ("OVN_CA_CERTIFICATE", "ca-cert.pem", "certificate verify failed"),
        ("OVN_CERTIFICATE", "client-cert.pem", "its certificates cannot be used: .*(mismatch|MISMATCH)"),
    ],
)
def test_files_of_another_authority_are_named(
    tls: TlsDatabase, settings: Settings, setting: str, file: str, reason: str
) -> None:
    other = tls.directory / "other"
    certificates_make(other, "127.0.0.1")
    settings.KILONOVA = {**settings.KILONOVA, setting: str(other / file)}

    with pytest.raises(Unavailable, match=reason):
        Northbound.connect(ovn_options())


def test_a_certificate_that_the_server_does_not_know_is_refused_by_it(tls: TlsDatabase, settings: Settings) -> None:
    other = tls.directory / "other"
    certificates_make(other, "127.0.0.1")
    own = {"OVN_CERTIFICATE": str(other / "client-cert.pem"), "OVN_PRIVATE_KEY": str(other / "client-key.pem")}
    settings.KILONOVA = {**settings.KILONOVA, **own}

    # The server's reason comes after the handshake: whether it is read before the connection breaks is chance.
    with pytest.raises(Unavailable, match=f"ssl:127.0.0.1:{tls.port}: "):
        Northbound.connect(ovn_options())


def test_the_leader_of_a_cluster_is_written_to_and_the_next_one_when_it_is_gone(cluster: ClusteredDatabase) -> None:
    northbound = Northbound.connect(ovn_options())
    try:
        first = port_told(northbound)
        gone = cluster.leader()
        cluster.stop(gone)
        assert cluster.leader() != gone
        until(lambda: northbound.is_connected and northbound.has_lock, 30)
        second = port_told(northbound)
        assert {first, second} <= set(cluster.nb("--bare", "--columns=name", "list", "Logical_Switch_Port").split())
    finally:
        northbound.close()


def test_servers_of_a_cluster_that_are_down_when_it_connects_are_passed_over(cluster: ClusteredDatabase) -> None:
    cluster.stop("nb0")
    cluster.leader()
    northbound = Northbound.connect(ovn_options())
    try:
        assert port_told(northbound)
    finally:
        northbound.close()
