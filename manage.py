#!/usr/bin/env python
"""Kilonova's command line: Django's, with the settings of this project."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
    execute_from_command_line(sys.argv)
