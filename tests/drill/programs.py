"""The programs of an installation, as functions: what `manage.py` does when a person starts them."""

import sys

from django.core.management import execute_from_command_line

from controlplane.launcher.children import web_command


def manage(arguments: list[str]) -> int:
    """`manage.py ARGUMENTS...`"""
    sys.argv = ["manage.py", *arguments]
    execute_from_command_line(sys.argv)
    return 0


def web(arguments: list[str]) -> int:
    """The web server of `manage.py up` on the port of the first argument."""
    _python, _manage, *command = web_command(int(arguments[0]))
    return manage(command)
