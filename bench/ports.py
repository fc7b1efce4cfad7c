"""A thousand ports in one request, and one by one: seconds, statements and CPU, on a PostgreSQL of its own.

    python -m bench.ports [--ports 1000] [--times 3]

Each port has an IPv4 and an IPv6 address, a MAC address and a security group, in a network of a /16 and a /64. Commits
are on the disk when they return. One line per case: the median of `--times` runs, and what one port takes of it.
"""

import argparse
import logging
import os
import statistics
import time

import django
from django.conf import settings

from bench.select_destinations import DurablePostgres


def measure(count: int, times: int) -> None:
    """Both ways, in turns; what they make is removed again."""
    from django.core.management import call_command  # noqa: PLC0415 - needs Django
    from django.db import connection  # noqa: PLC0415
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    from controlplane.identity.models import Project  # noqa: PLC0415
    from servers.networks.domain.ports import PortRequest  # noqa: PLC0415
    from servers.networks.services.ports import ports_create, ports_delete  # noqa: PLC0415
    from tests.worlds import cloud  # noqa: PLC0415
    from tests.worlds.ports import network, subnet  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    member = cloud.people().member
    Project.objects.filter(pk=member.project_id).update(quota_ports=-1)
    net = network("bench", project_id=member.project_id)
    subnet(net, "10.0.0.0/16")
    subnet(net, "fd00:20::/64")

    def asked(number: int) -> list[PortRequest]:
        return [PortRequest(network_id=net.pk, project_id=member.project_id) for _ in range(number)]

    for name, number in (("in one request", count), ("one", 1)):
        took, cpu = [], []
        for _ in range(times if number > 1 else times * 20):
            begin, used = time.perf_counter(), time.process_time()
            made = ports_create(caller=member, requests=asked(number))
            took.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - used)
            ports_delete(port_ids=[port.pk for port in made])
        with CaptureQueriesContext(connection) as caught:
            made = ports_create(caller=member, requests=asked(number))
        ports_delete(port_ids=[port.pk for port in made])
        middle = statistics.median(took)
        print(
            f"{number:5} {name:15} {middle * 1000:8.1f} ms, Python's CPU {statistics.median(cpu) * 1000:7.1f} ms, "
            f"{middle * 1000 / number:6.2f} ms each; {len(caught)} statements"
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ports", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
    with DurablePostgres() as server:
        os.environ["DATABASE_URL"] = server.create_database()
        django.setup()
        settings.DEBUG = False
        logging.disable(logging.INFO)
        measure(options.ports, options.times)


if __name__ == "__main__":
    main()
