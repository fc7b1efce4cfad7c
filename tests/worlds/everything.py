"""An installation with one of most things, and the ids and names by which requests may mean them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from django.apps import apps
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User, UserGroup
from controlplane.identity.services import token_issue
from controlplane.notifications.models import Webhook
from placement.models import ResourceProvider
from scheduling.models import Aggregate, ComputeNode, SchedulerPolicy, SchedulingDecision, Service
from servers import models
from servers.catalog.services.keypair import keypair_generate
from servers.openstack.compute.numbers import number_of
from tests.worlds import cloud
from tests.worlds.cloud import People
from tests.worlds.neutron import neutron
from tests.worlds.volumes import backup_row, snapshot_made, storage_pool, volume_made

Known = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Installation:
    """Who is there, and what is there: values by the names of parameters and of keys in bodies that take them."""

    people: People
    known: Known
    placed: Known

    def chosen(self, name: str, random: Random, *, below: str = "") -> str | None:
        """A value that means something, for a parameter or key of this name; None where nothing is known of it.
        `below`: the part of a path that the value follows, such as `flavors`.
        """
        found = self.placed.get(below) or self.known.get(name) or ()
        return random.choice(found) if found else None


def installation() -> Installation:
    """On any database, all of it in the project of the member."""
    network = neutron()
    who = network.people
    cloud.flavor()
    cloud.image()
    cloud.host("h1")
    storage_pool("shared", "h1")
    server = cloud.active(who.member, metadata={"a": "b"}, tags=["a"], networks="none")
    volume = volume_made(who.member)
    snapshot_made(who.member, volume)
    backup_row(volume)
    keypair_generate(user_id=who.member.user_id, name="mine", project_id=who.member.project_id)
    models.ServerGroup.objects.create(
        name="apart", policy="anti-affinity", project_id=who.member.project_id, user_id=who.member.user_id
    )
    Aggregate.objects.create(name="rack")
    Webhook.objects.create(name="bot", url="https://192.0.2.1/", events=["*"])
    _made_by_api(token_issue(username=who.admin.username, password=cloud.PASSWORD).token)
    return Installation(who, _known(who.member, server, network.ids), _placed())


MADE_BY_API: Mapping[str, Mapping[str, Any]] = {
    "groups": {"name": "team"},
    "application-credentials": {"name": "mine"},
    "saved-views": {"list": "instances", "name": "mine", "query": "name=a"},
    "policies": {"name": "draft"},
    "volume-types": {"name": "fast"},
    "device-profiles": {"name": "gpu", "groups": [{"resources:VGPU": "1"}]},
}


def _made_by_api(token: str) -> None:
    client = Client(headers={"X-Auth-Token": token})
    for path, body in MADE_BY_API.items():
        answer = client.post(f"/api/{path}/", body, content_type="application/json")
        assert answer.status_code == 201, (path, answer.content)


ALIASES = {
    "groups": UserGroup,
    "users": User,
    "projects": Project,
    "policies": SchedulerPolicy,
    "decisions": SchedulingDecision,
    "resource-providers": ResourceProvider,
    "interfaces": models.Port,
    "types": models.VolumeType,
    "snapshots": models.VolumeSnapshot,
    "backups": models.VolumeBackup,
    "floatingips": models.FloatingIP,
    "floating-ips": models.FloatingIP,
    "compute-nodes": ComputeNode,
}


def _placed() -> Known:
    """By the parts of paths below which ids stand, as `compute-nodes`: those of the rows that are called so."""
    of_models = {f"{one._meta.verbose_name_plural}".replace(" ", "-"): one for one in apps.get_models()}
    found = {below: _ids(model) for below, model in (of_models | ALIASES).items() if below not in NAMED}
    for below in ("users", "projects"):
        found[below] += [one.replace("-", "") for one in found[below]]
    found["resource_providers"] = found["resource-providers"] = [
        str(one) for one in ResourceProvider.objects.values_list("uuid", flat=True)
    ]
    return found


NAMES = ("traits", "resource-classes", "keypairs")
NAMED = (
    "allocations",
    "inventories",
    "members",
    "request-specs",
    "instance-mappings",
    "roles",
    "tags",
    "hosts",
    *NAMES,
)
"""What is below these is not the id of a row that is called so."""


def _ids(model: type[Any]) -> list[str]:
    """In the order in which they were made, so that a request means the same in each run."""
    order = "created_at" if any(field.name == "created_at" for field in model._meta.fields) else "pk"
    return [str(pk) for pk in model.objects.order_by(order).values_list("pk", flat=True)[:5]]


def _known(member: Caller, server: models.Instance, network: Mapping[str, str]) -> Known:
    images, flavors, servers = _ids(models.Image), _ids(models.Flavor), _ids(models.Instance)
    volumes, aggregates, services = _ids(models.Volume), _ids(Aggregate), _ids(Service)
    projects, users = [member.project_id.hex, str(uuid.uuid4())], [one.hex for one in _pks(User)]
    providers = _ids(ResourceProvider)
    numbers = [str(number_of(uuid.UUID(one))) for one in (*aggregates, *services)]
    networks, ports = _ids(models.Network), _ids(models.Port)
    groups, rules = _ids(models.SecurityGroup), _ids(models.SecurityGroupRule)
    known = {
        "server_id": servers,
        "instance_id": servers,
        "instance_uuid": servers,
        "server_uuid": servers,
        "request_id": [server.request_id],
        "image_id": images,
        "imageRef": images,
        "image": images,
        "flavor_id": flavors,
        "flavorRef": flavors,
        "flavor": flavors,
        "volume_id": volumes,
        "volumeId": volumes,
        "snapshot_id": _ids(models.VolumeSnapshot),
        "backup_id": _ids(models.VolumeBackup),
        "type_id": [*_ids(models.VolumeType), "default"],
        "attachment_id": [*ports, *volumes],
        "project_id": projects,
        "tenant_id": projects,
        "member_id": projects,
        "member": projects,
        "user_id": users,
        "role_id": ["reader", "member", "admin"],
        "role": ["reader", "admin"],
        "domain_id": ["default"],
        "region_id": ["RegionOne"],
        "network_id": networks,
        "network": ["default", *networks],
        "subnet_id": _ids(models.Subnet),
        "port_id": ports,
        "port": ports,
        "router_id": _ids(models.Router),
        "floating_ip_id": _ids(models.FloatingIP),
        "floating_network_id": [network["public_id"]],
        "group_id": [*groups, *_ids(models.ServerGroup)],
        "security_group_id": groups,
        "rule_id": rules,
        "number": numbers,
        "service_id": [*services, *numbers],
        "hypervisor_id": [*_ids(Service), *numbers],
        "host": ["h1"],
        "binary": ["nova-compute"],
        "name": ["mine", "demo", "default", "VCPU", "CUSTOM_A", "HW_CPU_X86_VMX", "image"],
        "key": ["a", "hw:cpu_policy"],
        "tag": ["a"],
        "resource_class": ["VCPU", "CUSTOM_A"],
        "resources": ["VCPU:1", "VCPU:1,MEMORY_MB:64"],
        "consumer_uuid": servers,
        "project": projects,
        "target": projects,
        "group": groups,
        "volume": volumes,
        "server": servers,
        "instance": servers,
        "network_name": ["default"],
        "alias": ["router", "os-hosts"],
        "marker": [*servers, *images, *volumes, *networks, *flavors],
        "id": [*servers, *volumes, *networks, *_ids(SchedulingDecision), *providers, *images, *flavors],
        "pk": [*servers, *volumes, *networks, *_ids(SchedulingDecision), *providers, *images, *flavors],
    }
    return {name: values for name, values in known.items() if values}


def _pks(model: type[Any]) -> list[uuid.UUID]:
    return list(model.objects.order_by("pk").values_list("pk", flat=True)[:5])
