"""Subscriptions: what they may be, and that secrets stay secret."""

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound
from controlplane.notifications.checks import event_pattern_problems
from controlplane.notifications.event_types import event_types
from controlplane.notifications.models import Webhook
from controlplane.notifications.patterns import PATTERNS
from controlplane.notifications.secret_encryption import secret_decrypt, secret_encrypt
from controlplane.notifications.signature import signature
from controlplane.notifications.test_delivery import TRIAL
from controlplane.notifications.webhooks import webhook_create, webhook_delete, webhook_update
from tests.fixtures.receivers import signature_fits

pytestmark = pytest.mark.django_db
SECRET = "0123456789abcdef-secret"


def made(**changes: Any) -> Webhook:
    given = {"name": "hook", "url": "https://example.org/in", "events": ["*"], "secret": SECRET}
    return webhook_create(**{**given, **changes})


def test_secret_is_stored_encrypted_and_read_back() -> None:
    row = made()
    stored = Webhook.objects.filter(pk=row.pk).values()[0]
    assert SECRET not in str(stored)
    assert secret_decrypt(row.encrypted_secret) == SECRET


def test_secret_of_another_installation_cannot_be_read(settings: Any) -> None:
    encrypted = secret_encrypt(SECRET)
    settings.SECRET_KEY = "another-" + "y" * 50
    with pytest.raises(Invalid, match="SECRET_KEY"):
        secret_decrypt(encrypted)


def test_secret_of_the_key_before_is_read_where_that_one_is_a_fallback(settings: Any) -> None:
    encrypted = secret_encrypt(SECRET)
    settings.SECRET_KEY_FALLBACKS = ["third-" * 10, settings.SECRET_KEY]
    settings.SECRET_KEY = "another-" + "y" * 50
    assert secret_decrypt(encrypted) == SECRET


def test_secret_that_is_left_empty_stays() -> None:
    row = made()
    assert (
        secret_decrypt(webhook_update(webhook_id=row.pk, url="https://example.org/new", secret="").encrypted_secret)
        == SECRET
    )


def test_new_secret_takes_the_place_of_the_old_one() -> None:
    row = made()
    assert secret_decrypt(webhook_update(webhook_id=row.pk, secret="n" * 16).encrypted_secret) == "n" * 16


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", " "),
        ("name", "x" * 65),
        ("url", "ftp://example.org/"),
        ("url", "example.org"),
        ("url", "https://"),
        ("url", "https://example.org:port/"),
        ("url", "https://user:word@example.org/"),
        ("url", "https://example.org/a b"),
        ("url", "http://127.0.0.1:8000/api/"),
        ("url", "http://169.254.169.254/latest/meta-data/"),
        ("url", "http://[::ffff:10.0.0.1]/"),
        ("url", "https://example.org/\r\nHost: other"),
        ("events", []),
        ("events", "scheduler.*"),
        ("events", [""]),
        ("events", [3]),
        ("events", ["compute.*"]),
        ("events", ["instance.*", "instance.stop.end"]),
        ("events", ["Instance.*"]),
        ("events", ["x"] * 51),
        ("secret", "short"),
        ("secret", "x" * 201),
    ],
)
def test_wrong_field_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidFields) as caught:
        made(**{field: value})
    assert list(caught.value.errors) == [field]


def test_all_wrong_fields_are_told_at_once() -> None:
    with pytest.raises(InvalidFields) as caught:
        made(url="nowhere", secret="")
    assert set(caught.value.errors) == {"url", "secret"}


def test_name_is_taken_once() -> None:
    made()
    with pytest.raises(Conflict):
        made()


def test_webhook_that_is_not_there_is_not_found() -> None:
    row = made()
    webhook_delete(webhook_id=row.pk)
    with pytest.raises(NotFound):
        webhook_delete(webhook_id=row.pk)
    with pytest.raises(NotFound):
        webhook_update(webhook_id=row.pk, enabled=False)


def test_signature_fits_only_its_body_secret_and_time() -> None:
    header = signature(secret=SECRET, timestamp=1000, body=b"{}")
    assert signature_fits(secret=SECRET, header=header, body=b"{}", now=1100)
    assert not signature_fits(secret=SECRET, header=header, body=b"{} ", now=1100)
    assert not signature_fits(secret="other-secret-of-16", header=header, body=b"{}", now=1100)
    assert not signature_fits(secret=SECRET, header=header, body=b"{}", now=1301)
    assert not signature_fits(secret=SECRET, header=header.replace("t=1000", "t=1050"), body=b"{}", now=1100)
    assert not signature_fits(secret=SECRET, header="nonsense", body=b"{}", now=1100)


@pytest.mark.parametrize("pattern", [pattern for pattern, _meaning in PATTERNS])
def test_each_pattern_that_the_pages_offer_is_of_an_event(pattern: str) -> None:
    made = webhook_create(name="lab", url="https://example.org/", events=[pattern], secret="x" * 32)
    assert made.events == [pattern]


def test_each_event_that_is_emitted_is_known() -> None:
    """What is written out in the code of volumes; events of other subjects are made of tables."""
    emitted = {
        f"{kind}.{verb}"
        for path in Path("servers").rglob("*.py")
        for kind, words in re.findall(r"emit_(volume|snapshot)\(([^)]*)\)", path.read_text())
        for verb in re.findall(r'"([a-z_.]+)"', words)
        if "." in verb or verb == "retype"
    }
    assert len(emitted) > 20
    assert emitted <= event_types()


def test_each_event_of_the_documents_table_may_be_asked_for() -> None:
    table = [
        line.split("|")[1] for line in Path("docs/notifications.md").read_text().splitlines() if line.startswith("| `")
    ]
    named = [each for cell in table for each in re.findall(r"`([a-z_]+\.[a-z_.*]+)`", cell)]
    assert {"service.down", "volume.create.start", "instance.pause.*"} <= {*named}
    idle = [each for each in named if not any(fnmatchcase(known, each) for known in event_types())]
    assert idle == [TRIAL]  # it goes to one webhook, whatever that wants


def test_setting_that_names_no_event_is_said_at_start() -> None:
    assert event_pattern_problems(["*", "service.down", "instance.*"]) == []
    (problem,) = event_pattern_problems(["scheduler.*", "scheduller.*"])
    assert problem.id == "notifications.E001"
    assert "'scheduller.*'" in problem.msg
