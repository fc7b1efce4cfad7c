"""What admins read of OVN, and ask of the conductor."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from computeagent.protocol.networks import NetworkBackendKind
from servers.models import OvnChange
from servers.networks.domain.names import OvnSubject
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.sync import changes_sync
from servers.networks.services.changes import networks_changed
from tests.fixtures.ovn import Central
from tests.fixtures.patience import eventually
from tests.worlds.networks import network, port

pytestmark = [pytest.mark.django_db, pytest.mark.processes]


def audit(*words: str) -> tuple[str, object]:
    out, status = StringIO(), 0
    try:
        call_command("ovn_audit", *words, stdout=out)
    except SystemExit as end:
        status = end.code  # type: ignore[assignment]
    return out.getvalue(), status


def test_audit_lists_what_differs_beside_the_conductor(configured: Central, northbound: Northbound) -> None:
    one = port(network(kind=NetworkBackendKind.OVN.value), "hv1")
    networks_changed(ports=[one.pk])
    out, status = audit()
    assert status == 1
    assert f"port {one.pk} waits since" in out
    assert f"Logical_Switch_Port port:{one.pk} is missing." in out
    changes_sync(northbound)
    out, status = audit()
    assert (status, out.count("\n")) == (0, 1)
    configured.nb("lsp-set-enabled", str(one.pk), "disabled")
    out, status = audit("--heal")
    assert "enabled is [False], not [True]" in out
    assert OvnChange.objects.get().subject == OvnSubject.ALL

    def is_healed() -> bool:
        """The conductor's copy may hear later than ours of what somebody else wrote; then the next round finds it."""
        changes_sync(northbound)
        return audit("--heal")[1] == 0

    eventually(is_healed, "the port is enabled again")


def test_audit_without_ovn_says_so() -> None:
    with pytest.raises(CommandError, match="OVN_NORTHBOUND is empty"):
        call_command("ovn_audit", stdout=StringIO())
