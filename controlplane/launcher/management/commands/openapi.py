"""`manage.py openapi compute`: prints the OpenAPI document of an OpenStack door, as the door itself serves it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.launcher.openstack_doors import DOORS
from controlplane.openstack.door import Door
from controlplane.openstack.microversions import VersionNotServedError, VersionUnreadableError
from controlplane.openstack.openapi.document import openapi_document


class Command(BaseCommand):
    """Of all microversions, or of one."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("door", choices=sorted(DOORS), help="whose document")
        parser.add_argument("--microversion", help="of this version alone, such as 2.79 or latest")

    def handle(self, *args: Any, **options: Any) -> None:
        door = DOORS[options["door"]]
        document = openapi_document(door, minor=_minor(door, options["microversion"]))
        self.stdout.write(json.dumps(document, indent=2))


def _minor(door: Door[Any], asked: str | None) -> int | None:
    if asked is None:
        return None
    if door.versions is None:
        raise CommandError(f"The {door.name} API has no microversions.")
    try:
        return door.versions.minor_asked_for(f"{door.versions.service_type} {asked}")
    except (VersionNotServedError, VersionUnreadableError) as error:
        raise CommandError(str(error)) from error
