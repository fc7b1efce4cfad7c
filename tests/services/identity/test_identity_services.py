"""Services and selectors of identity, on a database."""

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from controlplane.identity.domain import LoginRefused, LoginThrottled, QuotaLimits, Role
from controlplane.identity.models import LoginFailure, Project, RoleAssignment, Token, User
from controlplane.identity.selectors import caller_for_token, caller_for_user, quota_limits
from controlplane.identity.selectors.own_projects import projects_of_user
from controlplane.identity.services import (
    admin_ensure,
    credentials_check,
    project_create,
    project_update,
    role_grant,
    role_revoke,
    token_issue,
    token_revoke,
    token_use_note,
    tokens_purge_expired,
    user_create,
    user_password_set,
    user_update,
)
from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, InvalidFields
from tests.fixtures.patience import PATIENCE_S

pytestmark = pytest.mark.django_db
WORD = "correct horse battery"


@pytest.fixture
def project() -> Project:
    return project_create(name="demo")


@pytest.fixture
def mary(project: Project) -> User:
    user = user_create(username="mary", password=WORD)
    role_grant(user=user, project=project, role=Role.MEMBER)
    return user


def wrong(times: int, username: str = "mary", address: str = "10.0.0.1") -> None:
    for _ in range(times):
        with pytest.raises(LoginRefused):
            credentials_check(username=username, password="wrong", address=address)


def test_right_password_forgets_the_wrong_ones(mary: User) -> None:
    wrong(4)
    credentials_check(username="mary", password=WORD, address="10.0.0.1")
    assert not LoginFailure.objects.filter(bucket="pair").exists()


def test_refused_try_does_not_lengthen_the_wait(mary: User) -> None:
    wrong(5)
    for _ in range(3):
        with pytest.raises(LoginThrottled):
            credentials_check(username="mary", password="wrong", address="10.0.0.1")
    assert LoginFailure.objects.get(bucket="pair").failures == 5


def test_failures_from_elsewhere_do_not_lock_the_user_out(mary: User) -> None:
    wrong(5)
    assert credentials_check(username="mary", password=WORD, address="10.0.0.2") == mary


def test_old_failures_are_forgotten_and_removed(mary: User) -> None:
    wrong(5)
    LoginFailure.objects.update(last_failed_at=now_plus(-3600))
    wrong(1, username="somebody else")
    assert [(row.username, row.failures) for row in LoginFailure.objects.filter(bucket="pair")] == [
        ("somebody else", 1)
    ]


def test_unknown_user_is_counted_like_a_known_one(db: None) -> None:
    wrong(5, username="nobody")
    with pytest.raises(LoginThrottled):
        credentials_check(username="nobody", password="wrong", address="10.0.0.1")


def test_token_takes_the_named_project_by_name_or_id(mary: User, project: Project) -> None:
    for name in ("demo", str(project.pk)):
        assert token_issue(username="mary", password=WORD, project=name).caller.project_id == project.pk


def test_token_for_a_project_without_role_names_the_field(mary: User) -> None:
    project_create(name="other")
    with pytest.raises(Invalid) as refused:
        token_issue(username="mary", password=WORD, project="other")
    assert refused.value.field == "project"


def test_user_without_any_role_gets_no_token(db: None) -> None:
    user_create(username="nina", password=WORD)
    with pytest.raises(Forbidden):
        token_issue(username="nina", password=WORD)


def test_token_never_lives_longer_than_the_installation_allows(mary: User, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "TOKEN_LIFETIME_S": 100.0}
    before = db_now()
    issued = token_issue(username="mary", password=WORD, lifetime_s=1e9)
    assert timedelta(seconds=100) <= issued.expires_at - before <= timedelta(seconds=100 + PATIENCE_S)


def test_token_names_its_caller_in_one_query(mary: User, django_assert_num_queries: object) -> None:
    issued = token_issue(username="mary", password=WORD)
    with django_assert_num_queries(1):  # type: ignore[operator]
        found = caller_for_token(issued.token)
    assert found is not None
    assert found[1].caller == issued.caller


def test_digest_is_no_token(mary: User) -> None:
    token_issue(username="mary", password=WORD)
    assert caller_for_token(Token.objects.get().digest) is None


def test_token_of_somebody_else_cannot_be_revoked_by_a_user(mary: User) -> None:
    token_issue(username="mary", password=WORD)
    other = user_create(username="nina", password=WORD)
    token = Token.objects.get()
    assert not token_revoke(token_id=token.pk, user_id=other.pk)
    assert token_revoke(token_id=token.pk, user_id=mary.pk)
    assert not token_revoke(token_id=token.pk)


def test_use_is_noted_once_in_five_minutes(mary: User) -> None:
    token_issue(username="mary", password=WORD)
    token = Token.objects.get()
    assert not token_use_note(token_id=token.pk)
    Token.objects.update(last_used_at=now_plus(-400))
    assert token_use_note(token_id=token.pk)
    assert not token_use_note(token_id=token.pk)


def test_purge_removes_only_what_expired_a_day_ago(mary: User) -> None:
    for seconds in (-90_000, -1_000, 1_000):
        token_issue(username="mary", password=WORD)
        Token.objects.filter(expires_at__gt=now_plus(2_000)).update(expires_at=now_plus(seconds))
    assert tokens_purge_expired() == 1
    assert Token.objects.count() == 2


@pytest.mark.parametrize("way", ["service", "model"])
def test_new_password_ends_tokens_whoever_sets_it(mary: User, way: str) -> None:
    issued = token_issue(username="mary", password=WORD)
    if way == "service":
        user_password_set(user=mary, password="another long word")
    else:
        mary.set_password("another long word")
        mary.save()
    assert caller_for_token(issued.token) is None


def test_update_with_a_bad_password_changes_nothing(mary: User) -> None:
    with pytest.raises(InvalidFields) as refused:
        user_update(user=mary, email="mary@example.org", password="short")
    assert refused.value.field == "password"
    assert User.objects.get(pk=mary.pk).email == ""


def test_update_to_a_taken_name_is_a_conflict(mary: User) -> None:
    nina = user_create(username="nina", password=WORD)
    with pytest.raises(Conflict) as refused:
        user_update(user=nina, username="mary")
    assert refused.value.field == "username"


@pytest.mark.parametrize("field", ["is_active", "is_superuser"])
def test_last_superuser_stays(db: None, field: str) -> None:
    root = user_create(username="root", password=WORD, is_superuser=True)
    with pytest.raises(Conflict) as refused:
        user_update(user=root, **{field: False})  # type: ignore[misc]  # either key
    assert refused.value.field == field
    root.refresh_from_db()
    assert root.is_active
    assert root.is_superuser


def test_superuser_may_go_when_another_stays(db: None) -> None:
    root = user_create(username="root", password=WORD, is_superuser=True)
    user_create(username="root2", password=WORD, is_superuser=True)
    assert not user_update(user=root, is_superuser=False).is_superuser


@pytest.mark.parametrize("name", ["", "a b!", "x" * 151])
def test_bad_username_is_refused(db: None, name: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        user_create(username=name, password=WORD)
    assert refused.value.field == "username"
    assert not User.objects.exists()


def test_project_name_is_taken_once(project: Project) -> None:
    other = project_create(name="other")
    with pytest.raises(Conflict):
        project_create(name="demo")
    with pytest.raises(Conflict):
        project_update(project=other, name="demo")


def test_role_is_given_once_and_taken_away(mary: User, project: Project) -> None:
    role_grant(user=mary, project=project, role=Role.MEMBER)
    assert RoleAssignment.objects.count() == 1
    role_revoke(user=mary, project=project, role=Role.MEMBER)
    with pytest.raises(Forbidden):
        caller_for_user(user=mary, project_id=project.pk)


def test_superuser_is_admin_in_every_project(project: Project) -> None:
    root = user_create(username="root", password=WORD, is_superuser=True)
    assert caller_for_user(user=root, project_id=project.pk).is_admin


def test_disabled_project_is_nobodys(mary: User, project: Project) -> None:
    project_update(project=project, enabled=False)
    assert projects_of_user(user=mary) == []
    with pytest.raises(Forbidden):
        caller_for_user(user=mary)


def test_quota_is_the_projects_own_where_it_has_one(settings: Any) -> None:
    defaults = {"DEFAULT_QUOTA_INSTANCES": 7, "DEFAULT_QUOTA_CORES": 8, "DEFAULT_QUOTA_RAM_MIB": 9}
    settings.KILONOVA = {**settings.KILONOVA, **defaults}
    project = project_create(name="small", quota_cores=0)
    limits = quota_limits(project_id=project.pk)
    assert (limits.instances, limits.cores, limits.ram_mib) == (7, 0, 9)


def test_one_projects_quota_may_be_unlimited_and_nothing_below_that() -> None:
    fields = [field.name for field in dataclasses.fields(QuotaLimits)]
    project = project_create(name="large", **{f"quota_{name}": -1 for name in fields})  # type: ignore[arg-type]
    assert dataclasses.astuple(quota_limits(project_id=project.pk)) == (-1,) * len(fields)
    with pytest.raises(InvalidFields) as refused:
        project_update(project=project, quota_images=-2, quota_cores=-2)
    assert set(refused.value.errors) == {"quota_images", "quota_cores"}


def test_bootstrap_tells_a_made_up_password_once(db: None) -> None:
    first, second = admin_ensure(), admin_ensure()
    assert first.created
    assert first.password
    assert (second.created, second.password) == (False, None)
    token = token_issue(username="admin", password=first.password)
    assert token.caller.is_admin
    assert {project.name for project in Project.objects.all()} == {"admin", "demo"}


def test_bootstrap_with_a_weak_password_leaves_nothing(db: None, tmp_path: Path) -> None:
    path = tmp_path / "password"
    for text in ("short\n", "\n", ""):
        path.write_text(text)
        with pytest.raises(CommandError):
            call_command("identity_bootstrap", password_file=path)
    assert not User.objects.exists()
    assert not Project.objects.exists()


def test_bootstrap_never_prints_a_given_password(db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "password"
    path.write_text(f"{WORD}\n")
    call_command("identity_bootstrap", password_file=path)
    assert WORD not in capsys.readouterr().out
    assert credentials_check(username="admin", password=WORD, address="").is_superuser


def test_bootstrap_gives_nothing_back_that_operators_took(db: None) -> None:
    admin_ensure(WORD)
    admin = User.objects.get(username="admin")
    user_update(user=user_create(username="chief", password=WORD), is_superuser=True)
    user_update(user=admin, is_superuser=False)
    RoleAssignment.objects.all().delete()
    Project.objects.all().delete()
    assert not admin_ensure().created
    assert not RoleAssignment.objects.exists()
    assert not Project.objects.exists()
    admin.delete()
    assert not admin_ensure().created
    assert not User.objects.filter(username="admin").exists()
