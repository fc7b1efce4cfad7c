"""A persistent connection that the server ended is no failure of the next request."""

import pytest
from django.core.signals import request_started
from django.db import connection

from controlplane.infra.persistent_connections import has_unread
from tests.fixtures.patience import eventually

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server"),
]


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_connection_that_the_server_ended_is_made_anew_by_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)  # as installations have it
    connection.close()
    first = backend()
    request_started.send(sender=None)
    assert backend() == first
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [first])
    other.close()
    eventually(lambda: has_unread(connection.connection))

    request_started.send(sender=None)

    assert backend() != first
    connection.close()
