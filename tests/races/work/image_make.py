"""A program that makes a person, an image of what comes on standard input, and prints what a reader of it needs."""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
django.setup()

from controlplane.identity.services.tokens import token_issue  # noqa: E402 - needs Django
from servers.images.services.image import image_create  # noqa: E402
from servers.images.services.image_store import image_upload  # noqa: E402
from tests.worlds.cloud import PASSWORD, people  # noqa: E402

caller = people().member
image = image_create(caller=None, name="big", disk_format="raw", visibility="public")
image_upload(caller=None, image_id=image.pk, stream=sys.stdin.buffer)
token = token_issue(username=caller.username, password=PASSWORD).token
print(json.dumps({"image": str(image.pk), "token": token}))
