"""`manage.py secrets_reencrypt`: encrypt all stored secrets with the present SECRET_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.infra.secret_columns import SecretColumn, column_renew, secret_columns


class Command(BaseCommand):
    """Prints how many of each kind were done, and each that no key opens. Ends with status 1 where there is one."""

    help = (
        "Encrypt with SECRET_KEY every stored secret that is under one of SECRET_KEY_FALLBACKS. It may be stopped and "
        "run again at any moment, beside everything else; once it has nothing to do, the fallbacks can go."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Column by column, a page of rows at a time."""
        unreadable = sum(self._renew(column) for column in secret_columns())
        if unreadable:
            raise CommandError(
                f"{unreadable} secrets are opened neither by SECRET_KEY nor by SECRET_KEY_FALLBACKS: they are named "
                "above, and stay as they are."
            )

    def _renew(self, column: SecretColumn) -> int:
        """Returns how many no key opens."""
        renewed = current = unreadable = 0
        for page in column_renew(column):
            renewed, current, unreadable = (
                renewed + page.renewed,
                current + page.current,
                unreadable + len(page.unreadable),
            )
            for name in page.unreadable:
                self.stdout.write(f"{column.kind} {name}: no key opens it")
        self.stdout.write(
            f"{column.kind}: {renewed} encrypted anew, {current} were under SECRET_KEY already, "
            f"{unreadable} cannot be read"
        )
        self.stdout.flush()
        return unreadable
