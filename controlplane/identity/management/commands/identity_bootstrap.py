"""`manage.py identity_bootstrap`: the first admin."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.identity.services import admin_ensure
from controlplane.kernel.errors import InvalidFields


class Command(BaseCommand):
    """Makes user admin with projects admin and demo; prints a password that it had to make up, once."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--password-file", type=Path, help="file whose first line is the password")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the admin unless there is one: the command may run again and again."""
        given = _password_read(options["password_file"])
        try:
            made = admin_ensure(given)
        except InvalidFields as error:
            raise CommandError(f"the admin's password will not do: {error.message}") from error
        if made.created and not given:
            self.stdout.write(f"admin's password: {made.password}")
        self.stdout.write("created" if made.created else "was there already")


def _password_read(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    if not lines or not lines[0]:
        raise CommandError(f"the first line of {path} is empty: it must be the admin's password")
    return lines[0]
