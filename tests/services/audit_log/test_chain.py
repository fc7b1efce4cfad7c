"""The chain: built in order beside the writers, verified by a command, shortened by retention, changed by nobody."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from controlplane.audit_log.chain import audit_log_prune, chain_extend
from controlplane.audit_log.models import AuditLogChain, AuditLogEntry
from controlplane.audit_log.recording.actor_scope import SYSTEM, Actor
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, change_record
from controlplane.audit_log.verify import chain_verify

pytestmark = pytest.mark.django_db
ODD = {"text": "ü \x00 \ud800 'quote'", "float": 0.1, "nested": {"b": [1, None, True], "a": 2**70}}


def entries(count: int) -> None:
    for number in range(count):
        change = AuditChange("flavor.update", AuditTarget("flavor", str(number)), after={**ODD, "number": number})
        change_record(change, actor=Actor("root"), door=SYSTEM)


def without_trigger(statement: str, values: list[Any]) -> None:
    """What somebody with the database's password can do."""
    drop = "DROP TRIGGER audit_log_append_only"
    with connection.cursor() as cursor:
        cursor.execute(drop if connection.vendor == "sqlite" else f"{drop} ON audit_log_auditlogentry")
        cursor.execute(statement, values)


def test_entries_are_chained_in_order_and_hold() -> None:
    entries(3)
    assert chain_verify().waiting == 3
    assert chain_extend() == 3
    entries(2)
    assert chain_extend() == 2
    assert chain_extend() == 0
    found = chain_verify()
    assert (found.first, found.last, found.waiting, found.problem) == (1, 5, 0, "")
    rows = list(AuditLogEntry.objects.order_by("number"))
    assert [row.previous_hash for row in rows[1:]] == [row.hash for row in rows[:-1]]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE audit_log_auditlogentry SET user_name = 'mary' WHERE number = 2", "Entry 2 was changed"),
        ("UPDATE audit_log_auditlogentry SET occurred_at = '2020-01-01 00:00:00' WHERE number = 2", "Entry 2 was"),
        ("DELETE FROM audit_log_auditlogentry WHERE number = 2", "Entry 2 is missing"),
        ("DELETE FROM audit_log_auditlogentry WHERE number = 3", "ends at entry 2, but 3 were written"),
        ("UPDATE audit_log_auditlogentry SET previous_hash = hash WHERE number = 2", "does not follow entry 1"),
    ],
)
def test_whatever_is_changed_behind_it_is_named(statement: str, problem: str) -> None:
    entries(3)
    chain_extend()
    without_trigger(statement, [])
    assert problem in chain_verify().problem
    with pytest.raises(CommandError, match=problem.split(",", maxsplit=1)[0]):
        call_command("audit_log_verify")


def test_a_chain_made_anew_is_seen_against_what_was_noted() -> None:
    entries(3)
    chain_extend()
    noted = AuditLogEntry.objects.get(number=2).hash
    assert chain_verify(anchor_number=2, anchor_hash=noted).problem == ""
    without_trigger("DELETE FROM audit_log_auditlogentry", [])
    AuditLogChain.objects.all().delete()
    entries(3)
    chain_extend()
    assert chain_verify().problem == ""
    assert "not the one that was noted" in chain_verify(anchor_number=2, anchor_hash=noted).problem
    assert "was there when" in chain_verify(anchor_number=9, anchor_hash=noted).problem


def test_the_database_refuses_to_change_an_entry() -> None:
    entries(1)
    entry = AuditLogEntry.objects.get()
    with pytest.raises(DatabaseError, match="only appended"), transaction.atomic():
        AuditLogEntry.objects.update(user_name="mary")
    chain_extend()
    with pytest.raises(DatabaseError, match="only appended"), transaction.atomic():
        AuditLogEntry.objects.update(number=7)
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets whoever has the file remove rows")
def test_postgresql_refuses_to_remove_an_entry() -> None:
    entries(1)
    with pytest.raises(DatabaseError, match="only appended"), transaction.atomic():
        AuditLogEntry.objects.all()._raw_delete("default")


def test_retention_leaves_a_chain_that_holds_and_says_what_went() -> None:
    entries(4)
    without_old = timezone.now() - timedelta(days=400)
    without_trigger("UPDATE audit_log_auditlogentry SET occurred_at = %s WHERE target_id IN ('0', '1')", [without_old])
    chain_extend()
    noted = AuditLogEntry.objects.get(number=2).hash
    assert audit_log_prune() == 2
    assert audit_log_prune() == 0
    chain_extend()
    found = chain_verify(anchor_number=2, anchor_hash=noted)
    assert (found.first, found.last, found.problem) == (3, 5, "")
    pruned = AuditLogEntry.objects.get(action="audit_log.prune")
    assert pruned.after == {"first": 1, "last": 2, "hash": noted}
    out = StringIO()
    call_command("audit_log_verify", stdout=out)
    assert "3 entries hold" in out.getvalue()
