"""A host whose agent says that its hypervisor's answers contradict each other: no new instances, listed, and back."""

from dataclasses import replace

import pytest
from django.test import Client

from computeagent.protocol.hosts import HostReport
from controlplane.work.models import Heal
from scheduling.fleet.services.hosts import host_register
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import ComputeNode, Service
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_list
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
WELL = HostReport("h1", "memory", 1, vcpus=4, memory_mib=4096, disk_gib=100)
LOST = replace(WELL, safe_mode="4 of 4 guests are gone.\0" + "x" * 600)


def report(found: HostReport) -> Service:
    node = ComputeNode.objects.filter(host="h1").first()
    name = node.hypervisor_hostname if node else "h1"
    host_register(host="h1", report=replace(found, hypervisor_hostname=name))
    return Service.objects.get(host="h1")


def test_host_is_disabled_and_listed_while_it_lasts_and_enabled_by_itself() -> None:
    who = world.cloud("h1")
    service = report(LOST)
    assert service.disabled
    assert service.disabled_reason.startswith("AUTO: safe mode: 4 of 4 guests are gone.")
    (drift,) = [one for one in drift_list() if one.kind is DriftKind.SAFE_MODE]
    assert (drift.host, drift.can_heal) == ("h1", False)
    assert "--trust-listing" in drift.obstacle
    shown = world.client_of(who.admin).get("/api/hosts/h1/").json()
    assert shown["safe_mode"].startswith("4 of 4")
    assert shown["status"] == "disabled"
    browser = Client()
    browser.login(username="root", password=world.PASSWORD)
    assert 'id="safe-mode"' in browser.get("/hosts/h1/").content.decode()
    report(LOST)
    assert Heal.objects.filter(kind="host_disabled").count() == 1

    assert not report(WELL).disabled
    assert [one for one in drift_list() if one.kind is DriftKind.SAFE_MODE] == []
    assert Heal.objects.filter(kind="host_enabled").count() == 1


def test_host_that_an_operator_disabled_stays_so() -> None:
    world.cloud("h1")
    service_disable(host="h1", reason="new disks")
    assert report(LOST).disabled_reason == "new disks"
    assert report(WELL).disabled_reason == "new disks"
