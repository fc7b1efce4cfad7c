"""Nova's network faults of a create, each that can happen here: its code, and a sentence at its field."""

import uuid
from typing import Any

import pytest

from controlplane.identity.models import Project
from servers.models import BuildRequest, Network, Port, SecurityGroup
from servers.networks.domain.names import PortOwner
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)
NOBODY = "00000000-0000-0000-0000-000000000001"
NET = [{"network": "net"}]

# Nova's name, status, field, a part of the sentence, what the request says, who asks.
FAULTS: list[tuple[str, int, str, str, dict[str, Any], str]] = [
    ("form of networks", 400, "networks", "a list, auto or none", {"networks": "some"}, ""),
    ("form of one", 400, "networks", "neither a network nor a port", {"networks": [{"tag": "x"}]}, ""),
    ("both", 400, "networks", "both a network and a port", {"networks": [{"network": "net", "port": "free"}]}, ""),
    ("unknown key", 400, "networks", "has no 'uuid'", {"networks": [{"uuid": NOBODY}]}, ""),
    ("too many interfaces", 400, "networks", "at most 16", {"networks": NET * 17}, ""),
    (
        "FixedIpNotFoundForAddress",
        400,
        "networks",
        "in no subnet of network net (10.20.0.0/16)",
        {"networks": [{"network": "net", "fixed_ip": "192.0.2.1"}]},
        "",
    ),
    (
        "FixedIpAlreadyInUse",
        400,
        "networks",
        "10.20.5.5 is in use",
        {"networks": [{"network": "net", "fixed_ip": "10.20.5.5"}]},
        "",
    ),
    ("InvalidFixedIp", 400, "networks", "no IP address", {"networks": [{"network": "net", "fixed_ip": "10.20.5"}]}, ""),
    (
        "InvalidFixedIpAndMaxCountRequest",
        400,
        "networks",
        "An address can be given to one instance only",
        {"networks": [{"network": "net", "fixed_ip": "10.20.0.9"}], "max_count": 2},
        "",
    ),
    (
        "MultiplePortsNotApplicable",
        400,
        "networks",
        "A port can be given to one instance only",
        {"networks": [{"port": "free"}], "min_count": 2},
        "",
    ),
    (
        "FixedIpNotAllowed with a port",
        400,
        "networks",
        "cannot be given with a port",
        {"networks": [{"port": "free", "fixed_ip": "10.20.0.9"}]},
        "",
    ),
    ("PortNotFound", 400, "networks", "There is no port", {"networks": [{"port": NOBODY}]}, ""),
    ("PortNotFound: another project's", 400, "networks", "There is no port", {"networks": [{"port": "theirs"}]}, ""),
    ("PortRequiresFixedIP", 400, "networks", "has no address", {"networks": [{"port": "bare"}]}, ""),
    ("NetworkRequiresSubnet", 400, "networks", "has no subnet", {"networks": [{"network": "empty"}]}, ""),
    ("NetworkNotFound", 400, "networks", "There is no network", {"networks": [{"network": NOBODY}]}, ""),
    ("NetworkNotFound: another project's", 400, "networks", "no network", {"networks": [{"network": "hidden"}]}, ""),
    ("SecurityGroupNotFound", 400, "security_groups", "no security group", {"security_groups": ["x"]}, ""),
    (
        "SecurityGroupCannotBeApplied",
        400,
        "security_groups",
        "without port security",
        {"networks": [{"network": "open"}], "security_groups": ["web"]},
        "",
    ),
    (
        "security groups for given ports",
        400,
        "security_groups",
        "groups of their own",
        {"networks": [{"port": "free"}], "security_groups": ["web"]},
        "",
    ),
    (
        "security groups for no network",
        400,
        "security_groups",
        "gets no network",
        {"networks": "none", "security_groups": ["web"]},
        "",
    ),
    ("UnableToAutoAllocateNetwork", 400, "networks", "No network can be made", {"networks": "auto"}, "stranger"),
    ("tag twice", 400, "networks", "is there twice", {"networks": [{"network": "net", "tag": "a"}] * 2}, ""),
    ("tag of another form", 400, "networks", "slash or a comma", {"networks": [{"network": "net", "tag": "a,b"}]}, ""),
    (
        "address of a shared network",
        400,
        "networks",
        "Only the owner of the network",
        {"networks": [{"network": "shared", "fixed_ip": "10.60.0.9"}]},
        "",
    ),
    (
        "ExternalNetworkAttachForbidden",
        403,
        "networks",
        "only administrators may put",
        {"networks": [{"network": "outside"}]},
        "",
    ),
    ("PortLimitExceeded", 403, "ports", "ports: 6 asked for, 3 of 8", {"networks": NET * 3, "min_count": 2}, ""),
    ("PortInUse", 409, "networks", "is in use by", {"networks": [{"port": "taken"}]}, ""),
    ("PortInUse: twice in the request", 400, "networks", "is there twice", {"networks": [{"port": "free"}] * 2}, ""),
    ("NetworkAmbiguous", 409, "networks", "must say which: net, open, shared, twin, twin", {}, ""),
    ("NetworkAmbiguous: auto", 409, "networks", "must say which", {"networks": "auto"}, ""),
    ("NoUniqueMatch: group", 409, "security_groups", "2 security groups", {"security_groups": ["same"]}, ""),
    ("NoUniqueMatch: network", 409, "networks", "2 networks are named", {"networks": [{"network": "twin"}]}, ""),
]


def installation() -> world.People:
    """Project demo has two networks and one without subnet; another project has one, and there is one outside."""
    who = world.cloud()
    ours, theirs = (Project.objects.get(pk=one.project_id) for one in (who.member, who.stranger))
    net = nets.network("net", project=ours)
    for number in (1, 2):
        nets.network("twin", project=ours, cidr=f"10.3{number}.0.0/24")
    nets.network("open", project=ours, cidr="10.40.0.0/24", has_port_security=False)
    Network.objects.create(name="empty", project=ours, kind="bridge", segment=77)
    hidden = nets.network("hidden", project=theirs, cidr="10.50.0.0/24", is_enabled=False)
    nets.network("shared", project=theirs, cidr="10.60.0.0/24", is_shared=True)
    nets.network("outside", cidr="192.0.2.0/24", is_external=True, segment=None, physical_network="public")
    free = {"owner": PortOwner.NOBODY, "is_of_instance": False}
    nets.port(net, project=ours, name="free", address="10.20.5.5", **free)
    nets.port(net, project=ours, name="taken", instance_uuid=uuid.uuid4())
    nets.port(hidden, project=theirs, name="theirs", **free)
    Port.objects.create(network=net, project=ours, name="bare", mac="fa:16:3e:99:00:01", owner=PortOwner.NOBODY)
    for name in ("web", "same", "same"):
        SecurityGroup.objects.create(project=ours, name=name)
    return who


@pytest.mark.parametrize(
    ("fault", "status", "field", "sentence", "says", "asks"), FAULTS, ids=[one[0] for one in FAULTS]
)
def test_fault_has_novas_code_and_speaks_at_its_field(
    fault: str, status: int, field: str, sentence: str, says: dict[str, Any], asks: str
) -> None:
    del fault
    who = installation()
    Project.objects.filter(pk=who.member.project_id).update(quota_ports=8)
    if asks == "stranger":
        Network.objects.filter(name="shared").update(is_shared=False)
        Network.objects.filter(project_id=who.stranger.project_id).update(is_enabled=False)
    named = {"networks": NET} if field == "security_groups" else {}
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo", **named, **says}
    before = list(Port.objects.order_by("pk").values())
    answer = world.client_of(getattr(who, asks or "member")).post("/api/instances/", body, format="json")
    error = answer.json()["error"]
    assert answer.status_code == status, error
    said = " ".join([error["message"], *(reason for reasons in error["reasons"].values() for reason in reasons)])
    assert sentence in said
    assert field in (error["field"] or "", *error["reasons"])
    assert error["request_id"]
    assert not BuildRequest.objects.exists()
    assert list(Port.objects.order_by("pk").values()) == before
