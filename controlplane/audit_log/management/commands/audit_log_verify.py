"""`manage.py audit_log_verify`: is the audit log as it was written? (`manage.py audit` asks for the invariants.)"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.audit_log.chain import chain_extend
from controlplane.audit_log.verify import chain_verify
from controlplane.kernel.errors import KilonovaError


class Command(BaseCommand):
    """Reads the whole chain and makes every hash anew. Ends with 1 where something does not fit, and says what."""

    help = "Verify the hash chain of the audit log; with --anchor NUMBER:HASH also against what was noted elsewhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The anchor, and how to say it."""
        parser.add_argument("--anchor", default="", metavar="NUMBER:HASH", help="An entry's number and hash.")
        parser.add_argument("--chain", action="store_true", help="First chain the entries that wait for a conductor.")
        parser.add_argument("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify once."""
        number, _, digest = options["anchor"].partition(":")
        if options["anchor"] and not (number.isdecimal() and len(digest) == 64):
            raise CommandError("--anchor is NUMBER:HASH, as this command and the log print it.")
        if options["chain"]:
            chain_extend()
        try:
            found = chain_verify(anchor_number=int(number) if number else None, anchor_hash=digest)
        except KilonovaError as error:
            raise CommandError(error.message) from error
        if options["json"]:
            self.stdout.write(json.dumps(asdict(found)))
        elif not found.problem:
            count = max(0, found.last - found.first + 1)
            self.stdout.write(f"{count} entries hold, {found.waiting} wait to be chained.")
            self.stdout.write(f"The last is {found.last}:{found.head_hash}")
        if found.problem:
            raise CommandError(found.problem)
