"""Pages of networks, volumes and webhooks leave no English sentence of their own to a reader of Chinese."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from computeagent.protocol.power import PowerState
from controlplane.identity.models import User
from controlplane.notifications.fan_out import events_fan_out
from controlplane.notifications.models import Delivery, DeliveryAttempt, Webhook
from controlplane.notifications.outbox import events_write
from controlplane.notifications.serializer import Event
from controlplane.notifications.webhooks import webhook_create
from servers.models import (
    FloatingIP,
    Instance,
    Port,
    Router,
    StoragePool,
    StoragePoolHost,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeSnapshot,
    VolumeType,
)
from servers.networks.domain.names import PortOwner
from servers.networks.domain.rules import RuleRequest
from servers.networks.services.floating_ips import Target, floating_ip_create
from servers.networks.services.groups import security_group_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from servers.networks.services.rules import security_group_rules_add
from tests.worlds.cloud import People, active
from tests.worlds.routing import carrying_host, guest_port, inside, outside
from tests.worlds.volumes import backup_row

LISTS = (
    "networks", "ports", "routers", "floating-ips", "security-groups", "volumes", "volume-snapshots", "volume-backups",
    "volume-types", "storage-pools", "webhooks",
)  # fmt: skip
OF_ADMINS = ("storage-pools", "webhooks")
REFUSED = (
    "networks/new", "ports/new", "routers/new", "security-groups/new", "floating-ips/new", "volume-types/new",
    "webhooks/new", "security-groups/{group}/rules", "routers/{router}/legs", "networks/{network}/subnets/new",
)  # fmt: skip
"""Forms that say what is wrong when nothing is filled in."""
OTHERS = r"""
    <form\ class="list-filters".*?</form>
    |<div\ class="list-tools".*?<section\ class="card\ list-card">
    |<table\ class="list.*?</thead>
    |<(nav)\ class="pages".*?</\1>
    |<(form|div)[^>]*\ id="bulk".*?</\2>
    |<section[^>]*\ id="history".*?</section>
    |<div\ class="meter">.*?</div>
    |<details\ class="as-curl".*?</details>
    |<(script|style|code|pre)\b.*?</\3>
    |<(\w+)[^>]*\ class="[^"]*\bmono\b[^"]*"[^>]*>[^<]*</\4>
"""
"""What stands on these pages, and belongs to others: frames of lists, history, quota; and names, codes, bytes."""
ENGLISH = re.compile(r"[A-Za-z][\w']*(?:[,;:.…]*\s+[A-Za-z][\w']*){2,}")


def english(page: str) -> list[str]:
    """Runs of three words and more in what a person reads, also in hints and for screen readers."""
    main = page.partition("<main")[2].partition("</main>")[0] or page
    own = re.sub(OTHERS, " | ", main, flags=re.DOTALL | re.VERBOSE)
    said = [re.sub(r"<[^>]*>", " | ", own), *re.findall(r'(?:title|placeholder|aria-label)="([^"]*)"', own)]
    return [text for text in ENGLISH.findall(" | ".join(said)) if text != text.upper()]


def chinese(people: People, name: str = "root") -> Client:
    client = Client(headers={"accept-language": "zh-CN"})
    client.force_login(User.objects.get(username=name))
    return client


def _networks(people: People, instance: Instance) -> dict[str, Any]:
    """A network behind a router with a guest that a floating address leads to, and a group with each kind of rule."""
    carrying_host("h3", "physnet1")
    public, subnet = outside(), inside(people.member, "10.1.0.0/24", "blue")
    router = router_create(caller=people.member, name="edge", external_network=public.pk)
    router_interface_add(caller=people.member, router_id=router.pk, subnet_id=subnet.pk)
    port = guest_port(people.member, subnet, instance_uuid=instance.pk, owner=PortOwner.INSTANCE)
    floating_ip_create(caller=people.member, network_id=public.pk, target=Target(port.pk))
    floating_ip_create(caller=people.member, network_id=public.pk)
    FloatingIP.objects.filter(port=None).update(status="DOWN")
    group = security_group_create(caller=people.member, name="web")
    rules = [
        RuleRequest("ingress", 4, "tcp", 22, 22, "10.0.0.0/8"),
        RuleRequest("ingress", 4, "udp", 80, 90),
        RuleRequest("ingress", 4, "icmp", 8, 0),
        RuleRequest("ingress", 4, "99"),
        RuleRequest("egress", 6, "", remote_group_id=group.pk),
    ]
    security_group_rules_add(caller=people.member, group=group, rules=rules)
    return {"network": subnet.network_id, "router": router.pk, "port": port.pk, "group": group.pk}


def _volumes(people: People, instance: Instance) -> dict[str, Any]:
    pool = StoragePool.objects.create(name="local", kind="file", host="h1", total_bytes=2**34, reported_at=Now())
    StoragePoolHost.objects.create(pool=pool, host="h1", problem="full", reported_at=Now())
    kind = VolumeType.objects.create(name="fast", is_default=True, is_encrypted=True, min_gib=1, is_public=False)
    of = {"project_id": people.member.project_id, "user_id": people.member.user_id}
    held, free = (
        Volume.objects.create(name=name, pool=pool, size_gib=2, state=state, volume_type=kind, used_bytes=9, **of)
        for name, state in (("held", "in-use"), ("free", "available"))
    )
    VolumeAttachment.objects.create(volume=held, instance_uuid=instance.pk, state="attached", device="vdb")
    for volume in (held, free):
        snapshot = VolumeSnapshot.objects.create(
            volume=volume, name="s", size_gib=2, state="available", is_consistent=True, frozen_ms=380, **of
        )
        backup = VolumeBackup.objects.create(
            volume_id=volume.pk, volume_name="v", name="b", size_gib=2, state="creating", size_bytes=9, **of
        )
    done = backup_row(free, name="d")
    return {
        "held": held.pk,
        "free": free.pk,
        "type": kind.pk,
        "pool": pool.pk,
        "snapshot": snapshot.pk,
        "backup": backup.pk,
        "done": done.pk,
    }


def _webhooks() -> dict[str, Any]:
    hook = webhook_create(
        name="lab", url="https://example.org/", events=["instance.*"], secret="0123456789abcdef-secret"
    )
    events_write([Event("instance.create.end", "nova-compute:h1", {"a": 1}, timezone.now()) for _ in range(2)])
    events_fan_out()
    delivery = Delivery.objects.earliest("pk")
    DeliveryAttempt.objects.create(delivery=delivery, number=1, status=500, duration_ms=3)
    Webhook.objects.update(retry_at=timezone.now() + timedelta(hours=1))
    return {"webhook": hook.pk, "delivery": delivery.pk}


@pytest.mark.django_db
def test_no_english_sentence_is_left(people: People, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    admin, reader = chinese(people), chinese(people, "rita")
    pages = {f"{path} empty": admin.get(f"/{path}/").text for path in LISTS}
    pages |= {f"{path} empty for a reader": reader.get(f"/{path}/").text for path in LISTS if path not in OF_ADMINS}
    instance = active(people.member, "web-1")
    Instance.objects.update(vm_state="active", task_state="")
    ids = {**_networks(people, instance), **_volumes(people, instance), **_webhooks(), "instance": instance.pk}

    paths = [
        *LISTS, "volume-types/new", "volume-types/{type}/edit", "storage-pools/{pool}", "volumes/new", "volumes/{held}",
        "volumes/{free}", "volumes/{free}/edit", "volume-snapshots/{snapshot}/edit", "volume-backups/{backup}/edit",
        "volume-backups/{backup}/restore", "volume-backups/{done}/restore", "instances/{instance}/volumes",
        "networks/new", "networks/{network}",
        "networks/{network}/edit", "networks/{network}/subnets/new", "ports/new", "ports/{port}", "ports/{port}/edit",
        "routers/new", "routers/{router}", "routers/{router}/edit", "security-groups/new", "security-groups/{group}",
        "security-groups/{group}/edit", "reachability", "webhooks/new", "webhooks/{webhook}", "webhooks/{webhook}/edit",
        "webhooks/deliveries/{delivery}",
    ]  # fmt: skip
    for path in paths:
        answer = admin.get(f"/{path}/".format(**ids))
        assert (path, answer.status_code) == (path, 200)
        pages[path] = answer.text
    for path in REFUSED:
        answer = admin.post(f"/{path}/".format(**ids))
        assert (path, answer.status_code) == (path, 200)
        pages[f"{path} refused"] = answer.text
    parts = (("hosts/h1", "pools"), ("instances/{instance}", "interfaces"), ("instances/{instance}", "disks"))
    for path, part in parts:
        whole = admin.get(f"/{path}/".format(**ids)).text
        pages[part] = whole.partition(f'<section class="card" id="{part}">')[2].partition("</section>")[0]
        assert pages[part], f"{path} has no part {part}"
    pages |= _answers(admin, ids)

    assert {name: found for name, page in pages.items() if (found := english(page))} == {}
    assert "允许来自 10.0.0.0/8 的 TCP 端口 22 进入。" in pages["security-groups/{group}"]
    assert "已挂载" in pages["volumes/{held}"]


def _answers(client: Client, ids: dict[str, Any]) -> dict[str, str]:
    """Who reaches the guest: from outside, from its own network, and with each thing in the way."""
    asked = {"to": str(ids["port"]), "what": "ssh", "source": "outside"}
    near = {**asked, "source": "address", "address": "10.1.0.77"}
    found = {}
    Instance.objects.update(power_state=PowerState.RUNNING)
    for name, question in (("outside", asked), ("near", near)):
        found[f"reachable from {name}"] = client.get("/reachability/", question).text
    Router.objects.update(is_enabled=False)
    Port.objects.filter(pk=ids["port"]).update(is_enabled=False)
    Instance.objects.update(power_state=PowerState.SHUTDOWN)
    found["nothing works"] = client.get("/reachability/", asked).text
    Port.objects.filter(pk=ids["port"]).update(instance_uuid=None, owner="", has_security=False)
    found["nobody"] = client.get("/reachability/", near).text
    assert all("不通" in page for page in found.values())
    return found
