"""What it takes to tell OVN: many ports in batches, one more, a rule until it is in force, a comparison of everything.

python -m bench.ovn_northbound [--ports 1000] [--runs 5]

A real OVN of its own (root; packages ovn-central, ovn-host): databases, northd and two chassis in network namespaces.
Values go in, so neither HTTP nor the control plane's own database is part of it. Wall time and CPU of this process; the
database works at the same time. "In force": ovn-northd and both chassis are done with it (`ovn-nbctl --wait=hv sync`).
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
django.setup()

from computeagent.protocol.networks import (  # noqa: E402
    Direction,
    FixedAddress,
    GroupRule,
    GroupSpec,
    HostPort,
    NetworkSpec,
    SubnetSpec,
)
from servers.conf import OvnOptions  # noqa: E402
from servers.networks.ovn.northbound import Northbound  # noqa: E402
from servers.networks.ovn.objects.state import OvnLayout, OvnPort, OvnState  # noqa: E402
from servers.networks.ovn.objects.wanted import wanted_rows  # noqa: E402
from servers.networks.ovn.sync import TOGETHER, rows_write  # noqa: E402
from tests.fixtures.ovn import missing_for_ovn, ovn_site  # noqa: E402

LAYOUT = OvnLayout()
NETWORK = NetworkSpec("bench", mtu=1442, subnets=(SubnetSpec("subnet", "10.64.0.0/16", "10.64.0.1"),))
GROUP = GroupSpec("group", (GroupRule("egress", Direction.EGRESS), GroupRule("ping", Direction.INGRESS, 4, "icmp")))


def port(number: int) -> OvnPort:
    """A port of the network, on one of two hosts."""
    low = f"{number >> 8:02x}:{number & 255:02x}"
    address = FixedAddress("subnet", f"10.64.{1 + (number >> 8)}.{number & 255}")
    one = HostPort(f"port-{number}", "bench", f"fa:16:3e:00:{low}", (address,), group_ids=("group",))
    return OvnPort(one, f"hv{1 + number % 2}")


def measured(what: str, call: Callable[[], object], runs: int = 1) -> None:
    """Print the median."""
    walls, cpus = [], []
    for _ in range(runs):
        began, used = time.perf_counter(), time.process_time()
        call()
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - used)
    print(f"{what:60} {statistics.median(walls) * 1000:9.1f} ms {statistics.median(cpus) * 1000:9.1f} ms CPU")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ports", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    if missing := missing_for_ovn():
        sys.exit(missing)
    site = ovn_site()
    try:
        northbound = Northbound.connect(OvnOptions(ovn_northbound=site.central.address("nb")))
        base = OvnState((NETWORK,), (), (GROUP,))
        rows_write(northbound, wanted_rows(base, LAYOUT))
        site.central.nb("--wait=hv", "sync")
        whole = replace(base, ports=tuple(port(number) for number in range(given.ports)))
        wanted = wanted_rows(whole, LAYOUT)
        measured(f"rows of {given.ports} ports as values", lambda: wanted_rows(whole, LAYOUT), given.runs)
        measured(f"{given.ports} ports, {TOGETHER} in a transaction", lambda: rows_write(northbound, wanted))
        measured("   until they are in force", lambda: site.central.nb("--wait=hv", "sync"))
        measured("everything compared, nothing differs", lambda: northbound.differences(wanted), given.runs)
        more = iter(range(given.ports, given.ports + given.runs))

        def one_more() -> None:
            state = replace(base, ports=(port(next(more)),))
            northbound.reconcile(wanted_rows(state, LAYOUT))

        measured("one port more, with its network and group compared", one_more, given.runs)
        numbers = iter(range(1, given.runs + 1))

        def rule() -> None:
            web = GroupRule("web", Direction.INGRESS, 4, "tcp", port_max=next(numbers))
            northbound.reconcile(wanted_rows(replace(base, groups=(replace(GROUP, rules=(web,)),)), LAYOUT))
            site.central.nb("--wait=hv", "sync")

        measured("a rule changed, in force on both hosts", rule, given.runs)
        measured("the northbound database read anew", lambda: _connect_again(site.central.address("nb")), given.runs)
        northbound.close()
    finally:
        site.close()


def _connect_again(address: str) -> None:
    Northbound.connect(OvnOptions(ovn_northbound=address), has_lock=False).close()


if __name__ == "__main__":
    main()
