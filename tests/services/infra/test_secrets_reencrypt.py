"""Another SECRET_KEY: what the one before encrypted is read by it, encrypted anew, and read without it."""

import io
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from controlplane.identity.models import SecondFactor, User
from controlplane.infra.secret_columns import SecretColumn, column_renew, row_renew, secret_columns
from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt, secret_renew
from controlplane.kernel.errors import Invalid
from controlplane.notifications.models import Webhook
from servers.models import FirstBootData, GuestPassword, VolumeKey, WorkSecret

pytestmark = pytest.mark.django_db
OLD, NEW, LOST = ("old-" * 20, "new-" * 20, "lost" * 20)
SECRET = "what nobody reads"


@dataclass
class Keys:
    """The keys of this process."""

    settings: Any

    def are(self, first: str, *fallbacks: str) -> None:
        self.settings.SECRET_KEY, self.settings.SECRET_KEY_FALLBACKS = first, list(fallbacks)


@pytest.fixture
def keys(settings: Any) -> Keys:
    found = Keys(settings)
    found.are(OLD)
    return found


def column_of(model: type) -> SecretColumn:
    return next(one for one in secret_columns() if one.model is model)


def row_in(column: SecretColumn) -> Any:
    """A row of it whose secret is encrypted with the first key."""
    sealed = {column.field: secret_encrypt(SECRET, purpose=column.purpose)}
    needed: dict[type, dict[str, Any]] = {
        VolumeKey: {"owner_id": uuid.uuid4()},
        WorkSecret: {"work_id": uuid.uuid4(), "instance_uuid": uuid.uuid4()},
        GuestPassword: {"instance_uuid": uuid.uuid4()},
        FirstBootData: {"instance_uuid": uuid.uuid4()},
        Webhook: {"name": str(uuid.uuid4()), "url": "https://example.org"},
    }
    if column.model is SecondFactor:
        return SecondFactor.objects.create(user=User.objects.create(username=str(uuid.uuid4())), **sealed)
    return column.model._default_manager.create(**needed[column.model], **sealed)


def stored() -> dict[tuple[str, Any], str]:
    """Every encrypted text, by kind and row."""
    return {
        (one.kind, pk): text
        for one in secret_columns()
        for pk, text in one.model._default_manager.values_list("pk", one.field)
    }


def read() -> set[str]:
    """All secrets, as the keys of now open them."""
    return {
        secret_decrypt(getattr(row, one.field), purpose=one.purpose)
        for one in secret_columns()
        for row in one.model._default_manager.all()
    }


def run() -> str:
    out = io.StringIO()
    call_command("secrets_reencrypt", stdout=out)
    return out.getvalue()


def test_every_column_goes_from_one_key_to_the_next(keys: Keys) -> None:
    for column in secret_columns():
        row_in(column)
    keys.are(NEW, OLD)
    assert read() == {SECRET}
    before, said = stored(), run()
    assert said.count("1 encrypted anew, 0 were under SECRET_KEY already, 0 cannot be read") == len(secret_columns())
    assert not set(before.values()) & set(stored().values())
    keys.are(NEW)
    assert read() == {SECRET}


def test_second_run_changes_nothing(keys: Keys) -> None:
    for column in secret_columns():
        row_in(column)
    keys.are(NEW, OLD)
    run()
    before, said = stored(), run()
    assert said.count("0 encrypted anew, 1 were under SECRET_KEY already, 0 cannot be read") == len(secret_columns())
    assert stored() == before


def test_what_no_key_opens_is_named_stays_and_ends_with_a_failure(keys: Keys) -> None:
    keys.are(LOST)
    lost, guest = row_in(column_of(VolumeKey)), row_in(column_of(GuestPassword))
    keys.are(OLD)
    readable = row_in(column_of(VolumeKey))
    keys.are(NEW, OLD)
    before, out = stored(), io.StringIO()
    with pytest.raises(CommandError, match="2 secrets are opened neither by SECRET_KEY") as failure:
        call_command("secrets_reencrypt", stdout=out)
    said = out.getvalue()
    assert failure.value.returncode == 1
    assert f"passphrase of volume or backup {lost.owner_id}: no key opens it" in said
    assert f"password of guest {guest.instance_uuid}: no key opens it" in said
    assert str(readable.owner_id) not in said
    assert "1 encrypted anew, 0 were under SECRET_KEY already, 1 cannot be read" in said
    assert not [text for text in before.values() if text in said]
    assert SECRET not in said
    keys.are(LOST)
    assert secret_decrypt(VolumeKey.objects.get(pk=lost.pk).sealed, purpose=column_of(VolumeKey).purpose) == SECRET


def test_cut_off_it_goes_on_with_what_is_left(keys: Keys) -> None:
    column = column_of(VolumeKey)
    rows = [row_in(column) for _ in range(4)]
    keys.are(NEW, OLD)
    assert all(row_renew(column, row) for row in rows[:2])  # and then the process is gone
    (page,) = column_renew(column)
    assert (page.renewed, page.current, page.unreadable) == (2, 2, ())
    keys.are(NEW)
    assert read() == {SECRET}


def test_row_that_somebody_wrote_meanwhile_is_not_written_over(keys: Keys) -> None:
    column = column_of(Webhook)
    seen, gone = row_in(column), row_in(column)
    by_another_process = secret_encrypt("set anew", purpose=column.purpose)  # its first key is still the old one
    Webhook.objects.filter(pk=seen.pk).update(encrypted_secret=by_another_process)
    Webhook.objects.filter(pk=gone.pk).delete()
    keys.are(NEW, OLD)
    assert row_renew(column, seen)
    assert not row_renew(column, gone)
    keys.are(NEW)
    assert read() == {"set anew"}


def test_row_that_is_under_the_new_key_by_now_stays_as_it_was_written(keys: Keys) -> None:
    column = column_of(Webhook)
    seen = row_in(column)
    keys.are(NEW, OLD)
    written = secret_encrypt("set anew", purpose=column.purpose)
    Webhook.objects.filter(pk=seen.pk).update(encrypted_secret=written)
    assert not row_renew(column, seen)
    assert Webhook.objects.get().encrypted_secret == written


def test_processes_whose_first_keys_differ_read_each_other(keys: Keys) -> None:
    keys.are(OLD, NEW)
    by_the_old = secret_encrypt("a", purpose=b"tests")
    keys.are(NEW, OLD)
    by_the_new = secret_encrypt("b", purpose=b"tests")
    assert secret_decrypt(by_the_old, purpose=b"tests") == "a"
    keys.are(OLD, NEW)
    assert secret_decrypt(by_the_new, purpose=b"tests") == "b"


def test_secret_of_one_purpose_is_none_of_another(keys: Keys) -> None:
    keys.are(NEW, OLD)
    text = secret_encrypt(SECRET, purpose=b"tests")
    for refused in (secret_decrypt, secret_renew):
        with pytest.raises(Invalid, match="another SECRET_KEY"):
            refused(text, purpose=b"others")
