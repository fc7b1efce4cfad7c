"""Prepared statements return what the same text returns, in each connection, and outlive rollbacks and migrations."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.selectors.token_holder import token_holder
from controlplane.identity.services import token_issue
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery, PreparedStatement
from controlplane.kernel.clock import utc_now
from placement.selectors.providers import provider_row
from placement.services import provider_ensure
from tests.worlds import cloud as world

STATEMENT = PreparedStatement("test_percent", lambda: "SELECT %s WHERE 'ab' LIKE 'a%%'", types=["text"])


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """What a read returns where nothing is prepared."""

    def run(read: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patch:
            patch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
            return read()

    return run


@pytest.mark.django_db
def test_holder_of_a_token_in_every_state_is_the_plain_ones(plainly: Callable[[Callable[[], Any]], Any]) -> None:
    people = world.people()
    text = token_issue(username=people.member.username, password=world.PASSWORD).token
    token, user = Token.objects.get(), User.objects.filter(pk=people.member.user_id)
    now, found = utc_now(), []
    for is_revoked, is_over, is_active, is_enabled, is_superuser in product((False, True), repeat=5):
        expires = now + timedelta(hours=-1 if is_over else 1)
        Token.objects.filter(pk=token.pk).update(revoked=is_revoked, expires_at=expires)
        user.update(is_active=is_active, is_superuser=is_superuser)
        Project.objects.filter(pk=people.member.project_id).update(enabled=is_enabled)
        for roles in ((), (Role.MEMBER,), (Role.MEMBER, Role.READER)):
            RoleAssignment.objects.filter(user_id=people.member.user_id).delete()
            for role in roles:
                RoleAssignment.objects.create(user=user.get(), project_id=people.member.project_id, role=role)
            holder = token_holder(text)
            assert holder == plainly(lambda: token_holder(text))
            may_be_one = not is_revoked and not is_over and is_active and is_enabled and bool(roles or is_superuser)
            assert (holder is not None) == may_be_one
            found += [holder.caller.roles] if holder else []
    assert set(found) == {
        frozenset({Role.ADMIN}), frozenset({Role.MEMBER}), frozenset({Role.MEMBER, Role.READER})
    }  # fmt: skip


@pytest.mark.django_db
def test_provider_is_the_plain_one(plainly: Callable[[Callable[[], Any]], Any]) -> None:
    root, child = UUID(int=1), UUID(int=2)
    provider_ensure(root, "host")
    provider_ensure(child, "numa", parent_uuid=root)
    for uuid in (root, child, uuid4()):
        assert provider_row(uuid) == plainly(lambda uuid=uuid: provider_row(uuid))  # type: ignore[misc]
    assert provider_row(child).parent_uuid == root  # type: ignore[union-attr]


@pytest.mark.django_db(transaction=True)
def test_each_connection_prepares_once_and_counts_one_query() -> None:
    for _ in range(2):
        for _ in range(3):
            with CaptureQueriesContext(connection) as queries:
                assert STATEMENT.rows(["100%"]) == [("100%",)]
            assert len(queries) == 1
        if world.is_postgres():
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE name = 'test_percent'")
                assert cursor.fetchone() == (1,)
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_what_was_prepared_in_a_transaction_outlives_its_rollback() -> None:
    connection.close()
    with transaction.atomic():
        assert STATEMENT.rows(["first"]) == [("first",)]
        transaction.set_rollback(True)
    assert STATEMENT.rows(["second"]) == [("second",)]


@pytest.fixture
def table() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE test_prepared_table (amount integer)")
        cursor.execute("INSERT INTO test_prepared_table VALUES (7)")
    yield "test_prepared_table"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE test_prepared_table")


@pytest.mark.django_db(transaction=True)
def test_column_that_got_another_type_is_read_by_a_new_plan(table: str) -> None:
    if not world.is_postgres():
        pytest.skip("SQLite plans each statement anew")
    amounts = PreparedStatement("test_amounts", lambda: f"SELECT amount FROM {table}", types=[])  # noqa: S608
    assert amounts.rows([]) == [(7,)]
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ALTER amount TYPE text")
    assert amounts.rows([]) == [("7",)]
    assert STATEMENT.rows(["others too"]) == [("others too",)]


def _named_or_of(name: str, pk: UUID) -> QuerySet[Project]:
    rows = Project.objects.filter(Q(pk=pk) | Q(name=name) | Q(description="100 % of it"), enabled=True)
    return rows.exclude(name=name, description="50 %s").order_by("name")[:3]


PROJECTS = PreparedQuery("test_projects", _named_or_of, types=["text", "uuid"])


@pytest.mark.django_db
def test_query_with_constants_and_a_value_twice_is_the_orms(plainly: Callable[[Callable[[], Any]], Any]) -> None:
    texts = ("", "100 % of it", "50 %s")
    made = [
        Project.objects.create(name=f"p{number}", description=text, enabled=enabled)
        for number, (text, enabled) in enumerate(product(texts, (True, False)))
    ]
    for one, other in product(made, repeat=2):
        expected = [(row.pk, row.description, row.created_at) for row in _named_or_of(one.name, other.pk)]

        def found(one: Project = one, other: Project = other) -> list[Any]:
            return [(row.pk, row.description, row.created_at) for row in PROJECTS.run([one.name, uuid_value(other.pk)])]

        assert found() == plainly(found) == expected
    assert PROJECTS.run(["p2", uuid_value(made[0].pk)]) == [made[0], made[2]]
