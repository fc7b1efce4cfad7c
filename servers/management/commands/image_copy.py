"""`manage.py image_copy [KEY]`: copies a well-known cloud image into the installation; without a key, names them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.kernel.errors import KilonovaError
from servers.images.domain.images import Visibility
from servers.images.services.well_known import well_known_copy, well_known_images


class Command(BaseCommand):
    """The import itself is done by a conductor."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("key", nargs="?", help="of the catalogue")
        parser.add_argument("--name", default="", help="of the image; else the catalogue's")
        parser.add_argument("--visibility", default=Visibility.PUBLIC.value, choices=list(Visibility))

    def handle(self, *args: Any, **options: Any) -> None:
        """Copy one, or list all."""
        try:
            if not options["key"]:
                for one in well_known_images():
                    self.stdout.write(f"{one.key:<20} {one.name:<30} {one.url}")
                return
            image = well_known_copy(
                caller=None, key=options["key"], name=options["name"], visibility=options["visibility"]
            )
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{image.pk} {image.name}: its import is asked for; a conductor does it.")
