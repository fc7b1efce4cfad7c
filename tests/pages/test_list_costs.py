"""Each list costs as many queries with many rows as with few, sorted by whatever column."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User
from controlplane.notifications.webhooks import webhook_create
from scheduling.policies.services.policies import policy_create
from servers.models import (
    BulkJob,
    BulkJobItem,
    ConsoleSession,
    FloatingIP,
    Instance,
    IPAllocation,
    KeyPair,
    Network,
    Port,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    ServerGroup,
    ServerGroupMember,
    StoragePool,
    Subnet,
    Volume,
    VolumeType,
)
from tests.worlds.cloud import People, active
from tests.worlds.lists import EVERY_LIST
from tests.worlds.volumes import backup_row, snapshot_row, volume_row

AsPerson = Callable[[Caller], Client]
ELSEWHERE = {"decisions", "hosts", "aggregates", "drift", "heals", "work", "audit-log"}
"""Counted where their rows are made."""


def more_of_each(admin: Caller, instance: Instance, start: int, many: int) -> None:
    """Rows of each list, as they stand in the tables."""
    project = Project.objects.get(pk=admin.project_id)
    outside, _ = Network.objects.get_or_create(name="outside", is_external=True, kind="bridge", defaults={"mtu": 1500})
    subnet, _ = Subnet.objects.get_or_create(network=outside, cidr="203.0.113.0/24", ip_version=4)
    for number in range(start, start + many):
        name = f"n-{number}"
        KeyPair.objects.create(user_id=admin.user_id, name=name, public_key="ssh-ed25519 A", fingerprint=name)
        group = ServerGroup.objects.create(name=name, project=project, user_id=admin.user_id, policy="affinity")
        if not ServerGroupMember.objects.filter(instance_uuid=instance.pk).exists():
            ServerGroupMember.objects.create(group=group, instance_uuid=instance.pk)
        router = Router.objects.create(name=name, project=project, external_network=outside)
        leg = Port.objects.create(network=outside, project=project, router=router, mac=f"52:54:00:00:00:{number:02x}")
        key = f"{number:032x}"
        IPAllocation.objects.create(
            network=outside, subnet=subnet, port=leg, address=f"203.0.113.{number + 1}", address_key=key
        )
        FloatingIP.objects.create(project=project, network=outside, address_port=leg, address=f"203.0.113.{number + 1}")
        security = SecurityGroup.objects.create(name=name, project=project)
        SecurityGroupRule.objects.create(group=security, direction="ingress", rule_key=name)
        volume: Volume = volume_row(project, name=name)
        snapshot_row(volume)
        backup_row(volume)
        VolumeType.objects.create(name=name)
        StoragePool.objects.create(name=name, kind="file", host="h1")
        User.objects.create(username=name)
        policy_create(body={}, name=name)
        webhook_create(name=name, url="https://example.org/", events=["*"], secret="0123456789abcdef")
        Project.objects.create(name=name)
        job = BulkJob.objects.create(
            action="lock", user_id=admin.user_id, user_name="root", project_id=project.pk, request_id=name, item_count=1
        )
        BulkJobItem.objects.create(job=job, position=1, subject=instance.pk, state="done")
        ConsoleSession.objects.create(
            instance_uuid=instance.pk, instance_name=name, project=project, user_id=admin.user_id, kind="vnc",
            caller_project=project, token_digest=name, expires_at=Now(), opened_at=Now(),
        )  # fmt: skip


@pytest.fixture
def admin(people: People, as_person: AsPerson) -> Client:
    more_of_each(people.admin, active(people.member, "web-1"), 0, 2)
    return as_person(people.admin)


def queries(client: Client) -> dict[str, int]:
    counts = {}
    for one in EVERY_LIST:
        if one.name not in ELSEWHERE:
            columns = ",".join(column.key for column in one.columns)
            with CaptureQueriesContext(connection) as seen:
                assert client.get(one.path, {"columns": columns, "q": "n"}).status_code == 200
            counts[one.name] = len(seen)
    return counts


def test_eighteen_more_rows_cost_no_more_queries(admin: Client, people: People) -> None:
    queries(admin)  # what is read once per process is read now
    few = queries(admin)
    instance = active(people.member, "web-2")
    more_of_each(people.admin, instance, 2, 18)

    many = queries(admin)

    assert {name: count for name, count in many.items() if count > few[name]} == {}
    assert max(many.values()) < 25
