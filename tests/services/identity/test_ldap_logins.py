"""Logging in by a directory: a real slapd, over StartTLS and over TLS."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ldap3
import pytest

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import DirectoryUnavailable, LoginRefused, LoginThrottled, OutsiderRefused, Role
from controlplane.identity.domain.throttle import FREE, Bucket
from controlplane.identity.models import ExternalIdentity, LoginFailure, Project, RoleAssignment, User
from controlplane.identity.outside import ldap_directory
from controlplane.identity.selectors import caller_for_token
from controlplane.identity.services import credentials_check, role_grant, token_issue, user_create, user_password_set
from controlplane.identity.services.directory_sync import directory_sync
from controlplane.kernel.errors import InvalidFields
from tests.worlds.slapd import BASE, WORD, Directory, slapd

pytestmark = [pytest.mark.django_db, pytest.mark.processes]
OLGA = f"uid=olga,ou=people,{BASE}"
LAB = f"cn=lab,ou=groups,{BASE}"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    with slapd(tmp_path_factory.mktemp("slapd")) as directory:
        yield directory


@pytest.fixture
def directory(running: Directory, settings: Any) -> Iterator[Directory]:
    """As it was at first, whatever the test changed."""
    ldap_directory._left_alone_until.clear()
    Project.objects.create(name="lab")
    told = running.settings(LDAP_GROUP_ROLES=("lab=lab:member", "chiefs=superuser", "lab=nowhere:reader"))
    settings.KILONOVA = {**settings.KILONOVA, **told}
    yield running
    with running.root() as root:
        root.modify(LAB, {"member": [(ldap3.MODIFY_REPLACE, [OLGA])]})


def by(name: str, password: str = WORD) -> User:
    return credentials_check(username=name, password=password, address="10.0.0.1")


def roles(user: User) -> set[tuple[str, str]]:
    return set(RoleAssignment.objects.filter(user=user).values_list("project__name", "role"))


def test_person_becomes_a_user_with_the_roles_of_the_groups(directory: Directory) -> None:
    olga = by("olga")
    assert (olga.username, olga.email, olga.is_superuser) == ("olga", "olga@example.org", False)
    assert not olga.has_usable_password()
    assert roles(olga) == {("lab", "member")}
    assert by("olga") == olga
    assert set(AuditLogEntry.objects.values_list("action", flat=True)) == {"user.admit", "role.grant"}


@pytest.mark.parametrize(
    ("name", "password"),
    [("olga", "wrong"), ("olga", ""), ("nobody", WORD), ("*", WORD), ("olga)(uid=*", WORD), ("", "")],
)
def test_wrong_password_name_or_filter_is_refused(directory: Directory, name: str, password: str) -> None:
    with pytest.raises(LoginRefused):
        by(name, password)
    assert not User.objects.exists()


def test_wrong_passwords_have_to_wait(directory: Directory) -> None:
    for _ in range(FREE[Bucket.PAIR]):
        with pytest.raises(LoginRefused):
            by("olga", "wrong")
    with pytest.raises(LoginThrottled):
        by("olga")


def test_token_is_issued_by_the_directory_s_password(directory: Directory) -> None:
    assert token_issue(username="olga", password=WORD).caller.project_name == "lab"


def test_role_follows_the_group_and_what_was_given_by_hand_stays(directory: Directory) -> None:
    olga, lab = by("olga"), Project.objects.get(name="lab")
    role_grant(user=olga, project=lab, role=Role.READER)
    with directory.root() as root:
        root.modify(LAB, {"member": [(ldap3.MODIFY_REPLACE, [f"uid=otto,ou=people,{BASE}"])]})
    directory_sync()
    assert roles(olga) == {("lab", "reader")}


def test_group_of_superusers_gives_power_and_takes_it(directory: Directory, settings: Any) -> None:
    user_create(username="chief", password=WORD, is_superuser=True)
    otto = by("otto")
    assert (otto.is_superuser, otto.is_staff) == (True, True)
    settings.KILONOVA = {**settings.KILONOVA, "LDAP_GROUP_ROLES": ()}
    directory_sync()
    otto.refresh_from_db()
    assert (otto.is_superuser, otto.is_staff) == (False, False)


def test_last_superuser_stays_one(directory: Directory, settings: Any) -> None:
    otto = by("otto")
    settings.KILONOVA = {
        **settings.KILONOVA,
        "LDAP_GROUP_ROLES": (),
        "LDAP_USER_FILTER": "(&(uid=olga)(uid={username}))",
    }
    directory_sync()
    otto.refresh_from_db()
    assert (otto.is_superuser, otto.is_active) == (True, True)


def test_who_left_the_directory_is_out_at_once_and_comes_back(directory: Directory, settings: Any) -> None:
    olga = by("olga")
    issued = token_issue(username="olga", password=WORD)
    before = settings.KILONOVA
    settings.KILONOVA = {**before, "LDAP_USER_FILTER": "(&(objectClass=person)(!(uid=olga))(uid={username}))"}
    directory_sync()
    olga.refresh_from_db()
    assert not olga.is_active
    assert caller_for_token(issued.token) is None
    with pytest.raises(LoginRefused):
        by("olga")
    settings.KILONOVA = before
    assert by("olga").is_active
    assert caller_for_token(issued.token) is None


def test_who_was_switched_off_here_stays_out(directory: Directory) -> None:
    olga = by("olga")
    User.objects.filter(pk=olga.pk).update(is_active=False)
    with pytest.raises(LoginRefused):
        by("olga")


@pytest.mark.parametrize("name", ["olga", "OLGA"])
def test_user_who_is_kept_here_is_not_taken_over(directory: Directory, name: str) -> None:
    user_create(username="olga", password="another long word")
    refusal = LoginRefused if name == "olga" else OutsiderRefused
    with pytest.raises(refusal):
        by(name)
    assert by("olga", "another long word").username == "olga"
    assert not ExternalIdentity.objects.exists()


def test_name_that_the_directory_gave_to_another_person_is_not_the_user(directory: Directory) -> None:
    olga = by("olga")
    ExternalIdentity.objects.filter(user=olga).update(subject="somebody else by now")
    with pytest.raises(OutsiderRefused):
        by("olga")


def test_password_of_a_person_of_the_directory_is_not_set_here(directory: Directory) -> None:
    with pytest.raises(InvalidFields):
        user_password_set(user=by("olga"), password="another long word")


def test_tls_is_spoken_and_an_unknown_authority_refused(directory: Directory, settings: Any, tmp_path: Path) -> None:
    url = (f"ldaps://127.0.0.1:{directory.tls_port}",)
    settings.KILONOVA = {**settings.KILONOVA, "LDAP_URL": url}
    assert by("olga").username == "olga"
    settings.KILONOVA = {**settings.KILONOVA, "LDAP_CA_FILE": ""}
    with pytest.raises(DirectoryUnavailable):
        by("olga")


def test_second_server_answers_where_the_first_is_away(directory: Directory, settings: Any) -> None:
    urls = ("ldap://127.0.0.1:1", f"ldap://127.0.0.1:{directory.port}")
    settings.KILONOVA = {**settings.KILONOVA, "LDAP_URL": urls}
    assert by("olga").username == "olga"


def test_wrong_service_account_is_a_failure_and_no_refusal(directory: Directory, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "LDAP_BIND_PASSWORD": "wrong"}
    with pytest.raises(DirectoryUnavailable):
        by("olga")
    assert not LoginFailure.objects.filter(failures__gt=0).exists()
