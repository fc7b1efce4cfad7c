"""`manage.py placement_audit`: do Placement, the fleet and the instances agree? With --heal: make them."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.kernel.ids import parse_uuid
from servers.repair.domain.placement_findings import AuditFinding, AuditKind, HealResult, HealState
from servers.repair.services.placement_audit import placement_audit
from servers.repair.services.placement_heal import finding_heal

COLUMNS = ("kind", "about", "class", "heals", "finding")


class Command(BaseCommand):
    """Prints every finding and a count by kind. Ends with status 0 when there is none (any more), 1 when there is."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("--json", action="store_true", help="one JSON object per finding, or per fix with --heal")
        parser.add_argument("--provider", default="", metavar="UUID|NAME", help="only what is about this provider")
        parser.add_argument("--instance", default="", metavar="UUID", help="only what is about this instance")
        parser.add_argument(
            "--ignore",
            action="append",
            default=[],
            choices=[kind.value for kind in AuditKind],
            metavar="KIND",
            help="leave out a kind that is meant to be so, such as overcommitted (may be given again)",
        )
        parser.add_argument("--heal", action="store_true", help="explain each fix, ask, and put it right")
        parser.add_argument("--dry-run", action="store_true", help="with --heal: explain, change nothing")
        parser.add_argument("--yes", action="store_true", help="with --heal: do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the audit once; heal what it found when told to."""
        if (options["dry_run"] or options["yes"]) and not options["heal"]:
            raise CommandError("--dry-run and --yes go with --heal.")
        if options["json"] and options["heal"] and not (options["dry_run"] or options["yes"]):
            raise CommandError("--json asks nobody: give --yes or --dry-run, too.")
        if options["instance"] and parse_uuid(options["instance"]) is None:
            raise CommandError("--instance wants a uuid.")
        found = self._audit(options)
        if not (options["json"] and options["yes"]):
            self._show(found, as_json=options["json"])
        if options["heal"] and found and self._heal(found, options):
            # One fix may settle more than its own finding, so what is left is asked, not reckoned.
            found = self._audit(options)
            self._say(f"{_findings(len(found))} left", options)
        if found:
            sys.exit(1)

    def _audit(self, options: dict[str, Any]) -> list[AuditFinding]:
        found = placement_audit(provider=options["provider"], instance=parse_uuid(options["instance"]))
        return [one for one in found if one.kind.value not in options["ignore"]]

    def _show(self, found: Sequence[AuditFinding], *, as_json: bool) -> None:
        if as_json:
            for one in found:
                self.stdout.write(json.dumps(asdict(one), default=str))
            return
        if found:
            self._table(found)
        counts = Counter(one.kind for one in found)
        named = ", ".join(f"{kind.value} {counts[kind]}" for kind in AuditKind if counts[kind])
        self.stdout.write(f"{_findings(len(found))}{': ' if named else ''}{named}")

    def _table(self, found: Sequence[AuditFinding]) -> None:
        rows = [
            (one.kind.value, one.subject, one.resource_class, "yes" if one.fix else "no", one.message) for one in found
        ]
        widths = [max(len(row[place]) for row in [COLUMNS, *rows]) for place in range(len(COLUMNS))]
        for row in [COLUMNS, *rows]:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            self.stdout.write("  ".join(cells).rstrip())

    def _heal(self, found: Sequence[AuditFinding], options: dict[str, Any]) -> bool:
        """Explain, ask, do. False when nothing was to be changed."""
        fixable = [one for one in found if one.fix is not None]
        if not options["json"]:
            self._explain(found)
        if options["dry_run"]:
            self._say(f"Dry run: nothing was changed. {len(fixable)} can be healed.", options)
            return False
        if fixable and not options["yes"] and not self._confirmed(len(fixable)):
            self._say("Nothing was changed.", options)
            return False
        self._print([finding_heal(one) for one in found], options)
        return True

    def _explain(self, found: Sequence[AuditFinding]) -> None:
        for number, one in enumerate(found, start=1):
            self.stdout.write(f"\n{number}. {one.kind.value}: {one.message}")
            if one.fix is None:
                self.stdout.write(f"   cannot be healed: {one.obstacle}")
                continue
            self.stdout.write(f"   fix:    {one.fix.action}\n   why:    {one.fix.reason}")
            self.stdout.write(f"   before: {one.fix.before}\n   after:  {one.fix.after}")
        self.stdout.write("")

    def _confirmed(self, count: int) -> bool:
        try:
            return input(f"Apply {count} fix{'' if count == 1 else 'es'}? [y/N] ").strip().lower() in {"y", "yes"}
        except EOFError:
            return False

    def _print(self, results: Sequence[HealResult], options: dict[str, Any]) -> None:
        for number, one in enumerate(results, start=1):
            if options["json"]:
                shown = {"state": one.state.value, "reason": one.reason, **asdict(one.finding)}
                self.stdout.write(json.dumps(shown, default=str))
            else:
                reason = f": {one.reason}" if one.reason else ""
                self.stdout.write(f"{number}. {one.state.value}{reason}")
        counts = Counter(one.state for one in results)
        self._say(", ".join(f"{counts[state]} {state.value}" for state in HealState), options)

    def _say(self, text: str, options: dict[str, Any]) -> None:
        """For people only: programs read whole lines of JSON."""
        if not options["json"]:
            self.stdout.write(text)


def _findings(count: int) -> str:
    return f"{count} finding{'' if count == 1 else 's'}"
