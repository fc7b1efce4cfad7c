"""The WSGI application."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.prod")
application = get_wsgi_application()

# What is loaded by now stays for the life of the process. Taken out of the collector's sight, a full collection no
# longer walks all modules in the middle of a request, and pages shared with the parent process stay shared.
_ = get_resolver().url_patterns  # imports every view
gc.collect()
gc.freeze()
