"""Passphrases of encrypted volumes while SECRET_KEY changes, and once the one before is lost."""

import uuid
from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from servers.models import VolumeKey
from servers.volumes.services.keys import volume_key_copy, volume_key_make, volume_key_open, volume_keys_unreadable

pytestmark = pytest.mark.django_db
NEW = "new-" * 20


@pytest.fixture
def volume() -> uuid.UUID:
    found = uuid.uuid4()
    volume_key_make(owner_id=found)
    return found


def test_passphrase_without_its_key_says_what_is_to_be_done(volume: uuid.UUID, settings: Any) -> None:
    settings.SECRET_KEY = NEW
    with pytest.raises(Invalid, match="add that key to SECRET_KEY_FALLBACKS") as refused:
        volume_key_open(owner_id=volume)
    assert str(volume) in refused.value.message
    assert "Nobody can set it anew" in refused.value.message


def test_copy_is_sealed_with_the_key_of_now(volume: uuid.UUID, settings: Any) -> None:
    """Else a renewal that has passed the volume would leave its backup behind."""
    passphrase, backup = volume_key_open(owner_id=volume), uuid.uuid4()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [settings.SECRET_KEY]
    volume_key_copy(owner_id=backup, of=volume)
    settings.SECRET_KEY_FALLBACKS = []
    assert volume_key_open(owner_id=backup) == passphrase
    assert list(volume_keys_unreadable()) == [volume]


def test_copy_of_what_no_key_opens_waits_for_the_same_key(volume: uuid.UUID, settings: Any) -> None:
    passphrase, backup, old = volume_key_open(owner_id=volume), uuid.uuid4(), settings.SECRET_KEY
    settings.SECRET_KEY = NEW
    volume_key_copy(owner_id=backup, of=volume)
    assert set(volume_keys_unreadable()) == {volume, backup}
    settings.SECRET_KEY_FALLBACKS = [old]
    assert volume_key_open(owner_id=backup) == passphrase


def test_so_many_are_looked_at_and_no_more(settings: Any) -> None:
    for _ in range(3):
        volume_key_make(owner_id=uuid.uuid4())
    settings.SECRET_KEY = NEW
    wanted = sorted(VolumeKey.objects.values_list("pk", flat=True))
    assert list(volume_keys_unreadable()) == wanted
    assert list(volume_keys_unreadable(among=2)) == wanted[:2]
