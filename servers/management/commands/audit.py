"""`manage.py audit`: do the five invariants hold now?"""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from servers.repair.services.audit import audit_findings


class Command(BaseCommand):
    """Prints each violation with its evidence. Ends with status 1 when there is one."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("--json", action="store_true", help="one JSON object per violation")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the audit once."""
        findings = audit_findings()
        for one in findings:
            line = (
                json.dumps(asdict(one), default=str)
                if options["json"]
                else f"invariant {one.invariant}: {one.subject} {one.message}"
            )
            self.stdout.write(line)
        if not options["json"]:
            self.stdout.write(f"{len(findings)} violations of the five invariants")
        if findings:
            sys.exit(1)
