"""One life of OVN's writer: `ovn_kill_race.py NORTHBOUND VERB...` on the database of DATABASE_URL.

`make`: networks, ports, a group, a router and a floating address, all noted for OVN. `change`: each of them, noted.
`tell`: OVN is told of what was noted. `compare`: everything is compared, as a conductor does it when it starts. Prints
what differs and how many changes wait at the end.
"""

import json
import os
import sys

import django

os.environ["OVN_NORTHBOUND"] = sys.argv[1]
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402
from django.db.models import F  # noqa: E402

from controlplane.identity.models import Project  # noqa: E402
from servers.conf import ovn_options  # noqa: E402
from servers.models import Network, OvnChange, Port, Router, SecurityGroup  # noqa: E402
from servers.networks.ovn.audit import ovn_audit  # noqa: E402
from servers.networks.ovn.northbound import Northbound  # noqa: E402
from servers.networks.ovn.sync import changes_sync, whole_sync  # noqa: E402
from servers.networks.services.changes import networks_changed  # noqa: E402
from tests.worlds.networks import floating, group, network, port, router, rule_add  # noqa: E402

PORTS = 300
"""More than go into one transaction."""


@transaction.atomic
def everything_note() -> None:
    """As services do it with each change."""
    networks_changed(
        networks=list(Network.objects.values_list("pk", flat=True)),
        ports=list(Port.objects.filter(router__isnull=True).values_list("pk", flat=True)),
        groups=list(SecurityGroup.objects.values_list("pk", flat=True)),
        routers=list(Router.objects.values_list("pk", flat=True)),
    )


@transaction.atomic
def make() -> None:
    """Rows as services leave them."""
    project = Project.objects.create(name="tenant")
    net = network(kind="ovn", cidr="10.9.0.0/16", mtu=1442)
    out = network(kind="ovn", cidr="203.0.113.0/24", is_external=True, physical_network="physnet1")
    web = group(project, protocol="tcp", port_min=80, port_max=80)
    ports = [port(net, "hv1", groups=[web], project=project) for _ in range(PORTS)]
    floating(project, out, ports[0], router(project, "", net, external=out))
    everything_note()


def change() -> None:
    """Each is other than it was."""
    ports = Port.objects.filter(network__is_external=False, router__isnull=True)
    ports.update(host="hv2" if ports.filter(host="hv1").exists() else "hv1")
    rule_add(SecurityGroup.objects.get(), protocol="icmp")
    Router.objects.update(is_enabled=~F("is_enabled"))
    everything_note()


def tell() -> None:
    """As the thread of a conductor does it in a turn."""
    northbound = Northbound.connect(ovn_options())
    while changes_sync(northbound):
        pass
    northbound.close()


def compare() -> None:
    """As the same thread does it first of all."""
    northbound = Northbound.connect(ovn_options())
    whole_sync(northbound)
    northbound.close()


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    for verb in sys.argv[2:]:
        {"make": make, "change": change, "tell": tell, "compare": compare}[verb]()
    found = ovn_audit()
    said = {"differ": len(found.differences), "rows": found.rows, "waiting": OvnChange.objects.count()}
    sys.stdout.write(json.dumps(said))
