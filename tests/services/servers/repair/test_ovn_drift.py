"""Networks of kind OVN that are out of step with OVN: listed with what is wrong, told again when somebody asks."""

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.infra.db import db_now
from controlplane.work.models import Wakeup
from servers.models import OvnChange, OvnCheck
from servers.networks.services.ovn_changes import OVN_QUEUE
from servers.repair.domain.drift import AUTOMATIC, Drift, DriftKind
from servers.repair.selectors.drift import drift_list
from servers.repair.services.drift import drift_check_run, drift_heal
from servers.repair.services.drift_sources import OVN_KINDS
from tests.worlds.networks import network

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "unix:/run/ovn/nb.sock"


@pytest.fixture
def used(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "OVN_NORTHBOUND": ADDRESS}


def ago(**span: float) -> datetime:
    return db_now() - timedelta(**span)


def checked(**more: Any) -> OvnCheck:
    return OvnCheck.objects.create(name="northbound", **{"is_connected": True, "changed_at": ago(hours=1), **more})


def change(**more: Any) -> OvnChange:
    return OvnChange.objects.create(
        **{"subject": "port", "subject_id": uuid.uuid4(), "noted_at": ago(minutes=5), **more}
    )


def only(kind: DriftKind) -> Drift:
    (found,) = drift_list(kinds=OVN_KINDS)
    assert found.kind is kind
    assert kind not in AUTOMATIC
    return found


def test_without_ovn_nothing_is_out_of_step_but_networks_of_its_kind(settings: Any) -> None:
    change()
    assert drift_list(kinds=OVN_KINDS) == []
    network(kind=NetworkBackendKind.OVN)
    assert only(DriftKind.OVN_AWAY).found == "Nobody carries 1 networks of kind ovn: OVN_NORTHBOUND is empty."


@pytest.mark.usefixtures("used")
def test_connection_that_is_lost_for_long_is_listed_with_its_reason() -> None:
    assert drift_list(kinds=OVN_KINDS) == []
    row = checked(is_connected=False, problem="connection refused", changed_at=ago(seconds=10))
    assert drift_list(kinds=OVN_KINDS) == []
    OvnCheck.objects.filter(pk=row.pk).update(changed_at=ago(minutes=3))
    change()
    found = only(DriftKind.OVN_AWAY)
    assert found.found == ("OVN's northbound database is not reached, and 1 changes wait for it: connection refused")
    assert (found.evidence["northbound"], found.heal) == (ADDRESS, "")


@pytest.mark.usefixtures("used")
def test_changes_that_nobody_has_ever_told_are_listed() -> None:
    change(noted_at=db_now())
    assert drift_list(kinds=OVN_KINDS) == []
    OvnChange.objects.update(noted_at=ago(minutes=2))
    assert "no conductor has connected to it yet" in only(DriftKind.OVN_AWAY).found


@pytest.mark.usefixtures("used")
def test_changes_that_wait_for_long_wake_the_conductor_when_somebody_asks() -> None:
    checked()
    change(noted_at=db_now())
    assert drift_list(kinds=OVN_KINDS) == []
    change()
    assert only(DriftKind.OVN_BEHIND).found.startswith("2 changes of networks are not in OVN yet, the oldest since 20")
    drift_check_run("guests")
    assert drift_heal(key="ovn_behind:northbound", actor="root").is_done
    assert Wakeup.objects.filter(queue=OVN_QUEUE).exists()


@pytest.mark.usefixtures("used")
def test_what_ovn_refused_is_listed_once_and_told_again_when_somebody_asks() -> None:
    checked()
    port = uuid.uuid4()
    for attempts, problem in ((3, "constraint violation"), (1, "constraint violation again")):
        change(subject_id=port, attempts=attempts, problem=problem, retry_at=db_now() + timedelta(minutes=9))
    found = only(DriftKind.OVN_REFUSED)
    assert found.found == f"OVN refused port {port}: constraint violation again"
    drift_check_run("guests")
    assert drift_heal(key=found.key, actor="root").is_done
    assert set(OvnChange.objects.values_list("retry_at", flat=True)) == {None}
    assert Wakeup.objects.filter(queue=OVN_QUEUE).exists()
    OvnChange.objects.all().delete()
    drift_check_run("guests")
    assert drift_list(kinds=OVN_KINDS) == []
