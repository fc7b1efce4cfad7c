"""`manage.py identity_bootstrap`: the first admin."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from controlplane.identity.services import admin_ensure


class Command(BaseCommand):
    """Makes user admin with projects admin and demo; prints a password that it had to make up, once."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("--password-file", type=Path, help="file whose first line is the password")

    def handle(self, *args: Any, **options: Any) -> None:
        """Idempotent."""
        path: Path | None = options["password_file"]
        given = path.read_text().splitlines()[0] if path else None
        made = admin_ensure(given)
        if made.created and not given:
            self.stdout.write(f"admin's password: {made.password}")
        self.stdout.write("created" if made.created else "was there already")
