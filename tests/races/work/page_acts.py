"""A program that does what it is told on standard input, on the database of a race: [act, words] a line, and answers
with JSON.
"""

import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
django.setup()

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402 - needs Django
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import transaction  # noqa: E402

from controlplane.identity.models import Project, RoleAssignment, User  # noqa: E402
from controlplane.work.hints import changed, project_topic  # noqa: E402


def log_in(username: str, project: str, role: str) -> dict[str, str]:
    """A user with a role in a project, and a session of theirs."""
    user = User.objects.get_or_create(username=username)[0]
    place = Project.objects.get_or_create(name=project)[0]
    RoleAssignment.objects.get_or_create(user=user, project=place, role=role)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return {"cookie": f"sessionid={session.session_key}", "project": str(place.pk)}


def log_out(cookie: str) -> None:
    SessionStore(cookie.partition("=")[2]).delete()


def take_role(username: str) -> None:
    RoleAssignment.objects.filter(user__username=username).delete()


def change(*topics: str) -> None:
    """All in one transaction."""
    with transaction.atomic():
        changed(*topics)


def change_in(project: str) -> None:
    change(project_topic(project))


def change_nothing(*topics: str) -> None:
    """What is rolled back is told to nobody."""
    with transaction.atomic():
        changed(*topics)
        transaction.set_rollback(True)


ACTS: dict[str, Any] = {each.__name__: each for each in (log_in, log_out, take_role, change, change_in, change_nothing)}

for line in sys.stdin:
    act, words = json.loads(line)
    print(json.dumps(ACTS[act](*words)), flush=True)
