"""`manage.py settings_document`: writes docs/settings.md from the settings as they are declared."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.settings import Setting, settings_of
from controlplane.settings import env

DOCUMENT = Path("docs/settings.md")

INTRODUCTION = """\
# Settings

<!-- Written by `manage.py settings_document`; edit the declarations in the conf.py of each app, not this page. -->

Every setting is an environment variable, read once when a process starts. One that is empty counts as not set; one
that does not parse stops the process with a sentence that names it. All processes of the control plane (web server,
conductor) must be started with the same values. Agents of other machines share none of them: each reads those that
speak of an agent or its host, and `LOG_LEVEL` and `LOG_FORMAT`, from its own environment.

`DJANGO_SETTINGS_MODULE` chooses the way of running. `controlplane.settings.dev`, the default of `manage.py`, is for
one machine: it makes a secret key on first use and keeps it in the state directory. `controlplane.settings.prod`
stands behind a proxy that speaks TLS: it demands `SECRET_KEY`, sends plain HTTP to HTTPS, and serves static files as
`manage.py collectstatic` left them.

A default that begins with `$KILONOVA_STATE` lies in that directory, one that begins with `./` in the checkout.

| name | value | default | meaning |
| --- | --- | --- | --- |
"""


class Command(BaseCommand):
    """Writes the page; with --check it compares, and ends with status 1 when the page is not up to date."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing, compare")

    def handle(self, *args: Any, **options: Any) -> None:
        page, text = env.BASE_DIR / DOCUMENT, settings_document()
        if not options["check"]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{DOCUMENT} is out of date: run manage.py settings_document")


def settings_document() -> str:
    """The page. It is the same on every machine and in every way of running."""
    return INTRODUCTION + "".join(_rows())


def _rows() -> Iterator[str]:
    for options in env.ALL_OPTIONS:
        for setting in settings_of(options).values():
            yield _row(setting)


def _row(setting: Setting) -> str:
    default = f"`{setting.default_text}`" if setting.default_text else "(empty)"
    cells = (f"`{setting.name}`", setting.kind, default, setting.help)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
