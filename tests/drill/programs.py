"""The programs of an installation, as functions: what `manage.py` and gunicorn do when a person starts them."""

import sys

from django.core.management import execute_from_command_line
from gunicorn.app.wsgiapp import run as gunicorn_run


def manage(arguments: list[str]) -> int:
    """`manage.py ARGUMENTS...`"""
    sys.argv = ["manage.py", *arguments]
    execute_from_command_line(sys.argv)
    return 0


def web(arguments: list[str]) -> int:
    """`gunicorn ARGUMENTS...`"""
    sys.argv = ["gunicorn", *arguments]
    gunicorn_run()
    return 0
