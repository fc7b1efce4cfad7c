"""`manage.py images_move --to s3`: bring the bytes of all images to the other store."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from servers.conf import DIRECTORY, S3
from servers.images.services.image_move import MoveStep, images_move


class Command(BaseCommand):
    """Tells each image and what became of it. Fails when one of them did."""

    help = (
        "Copy the bytes of all images to the other store, verified by checksum. Run again, it goes on where it stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to, and what else to do."""
        parser.add_argument("--to", required=True, choices=[DIRECTORY, S3], help="The store that shall have them all.")
        parser.add_argument(
            "--verify", action="store_true", help="Read each image back from there, and compare its checksum."
        )
        parser.add_argument(
            "--remove",
            action="store_true",
            help="The same, and then remove it from where it was. IMAGE_STORE must name the new store by then.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Move them, one after the other."""
        target = options["to"]
        source = S3 if target == DIRECTORY else DIRECTORY
        count = failed = 0
        try:
            for moved in images_move(source=source, target=target, verify=options["verify"], remove=options["remove"]):
                count += 1
                failed += moved.step is MoveStep.FAILED
                reason = f": {moved.reason}" if moved.reason else ""
                self.stdout.write(
                    f"{moved.image_id} {moved.name} ({moved.size_bytes / 2**20:.1f} MiB): {moved.step}{reason}"
                )
                self.stdout.flush()
        except KilonovaError as error:
            raise CommandError(error.message) from error
        if failed:
            raise CommandError(f"{failed} of {count} images failed. Run it again when the reasons above are put right.")
        self.stdout.write(f"{count} images are in the store {target}.")
