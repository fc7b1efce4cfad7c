"""A directory that does not answer: nobody who is kept here notices."""

from typing import Any

import pytest

from controlplane.identity.domain import DirectoryUnavailable, LoginRefused, OutsiderRefused
from controlplane.identity.domain.outside import OutsidePerson, Source
from controlplane.identity.models import ExternalIdentity, LoginFailure, User
from controlplane.identity.outside import ldap_directory
from controlplane.identity.services import credentials_check, user_create
from controlplane.identity.services.directory_sync import directory_sync
from controlplane.identity.services.outsiders import outsider_admit

pytestmark = pytest.mark.django_db
WORD = "correct horse battery"


@pytest.fixture(autouse=True)
def away(settings: Any) -> None:
    ldap_directory._left_alone_until.clear()
    told = {"LDAP_URL": ("ldap://127.0.0.1:1",), "LDAP_USER_BASE": "ou=people"}
    settings.KILONOVA = {**settings.KILONOVA, **told}


def by(name: str, password: str = WORD) -> User:
    return credentials_check(username=name, password=password, address="10.0.0.1")


def test_local_users_log_in_however_often_the_directory_fails() -> None:
    user_create(username="chief", password=WORD, is_superuser=True)
    for _ in range(20):
        with pytest.raises(DirectoryUnavailable):
            by("olga")
    assert by("chief").username == "chief"
    with pytest.raises(LoginRefused):
        by("chief", "wrong")
    assert not LoginFailure.objects.filter(username="olga", failures__gt=0).exists()


def test_people_of_the_directory_stay_users_while_it_is_away() -> None:
    olga = outsider_admit(OutsidePerson(Source.LDAP, ldap_directory.ISSUER, "1", "olga"))
    directory_sync()
    olga.refresh_from_db()
    assert olga.is_active


def test_person_of_a_provider_is_not_the_one_of_the_directory() -> None:
    outsider_admit(OutsidePerson(Source.LDAP, ldap_directory.ISSUER, "1", "olga"))
    for name in ("olga", "Olga"):
        with pytest.raises(OutsiderRefused):
            outsider_admit(OutsidePerson(Source.OIDC, "https://id.example.org", "1", name))
    assert ExternalIdentity.objects.count() == 1


@pytest.mark.parametrize("name", ["two words", "a" * 151, "semi;colon"])
def test_name_that_cannot_be_one_here_is_refused(name: str) -> None:
    with pytest.raises(OutsiderRefused, match="Your name there"):
        outsider_admit(OutsidePerson(Source.OIDC, "https://id.example.org", "1", name))
    assert not User.objects.exists()


def test_user_keeps_the_name_when_it_changes_there() -> None:
    before = outsider_admit(OutsidePerson(Source.OIDC, "https://id.example.org", "1", "olga"))
    after = outsider_admit(OutsidePerson(Source.OIDC, "https://id.example.org", "1", "olga.new", "o@example.org"))
    assert (after.pk, after.username) == (before.pk, "olga")
    after.refresh_from_db()
    assert after.email == "o@example.org"
