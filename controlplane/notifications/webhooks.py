"""Subscriptions: who gets which events. Each process caches what they want for two seconds."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.ttl_cache import TtlCache
from controlplane.kernel.addresses import is_allowed, refusal
from controlplane.kernel.errors import Conflict, InvalidFields, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.notifications.conf import NETWORKS_SETTING, notification_options
from controlplane.notifications.event_types import patterns_of_none
from controlplane.notifications.models import Webhook
from controlplane.notifications.secret_encryption import secret_encrypt

REMEMBERED_S = 2.0
MIN_SECRET_CHARS, MAX_SECRET_CHARS = 16, 200
MAX_PATTERNS = 50

_wanted: TtlCache[frozenset[str]] = TtlCache()


def patterns_wanted() -> frozenset[str]:
    """What enabled webhooks want. Old by REMEMBERED_S at most: a new one may miss the events of two seconds."""
    return _wanted.get(_patterns_of_webhooks, fresh_s=REMEMBERED_S)


def patterns_forget() -> None:
    """Let the next question be asked of the database."""
    _wanted.forget()


def _patterns_of_webhooks() -> frozenset[str]:
    rows = Webhook.objects.filter(enabled=True).order_by().values_list("events", flat=True)
    return frozenset(pattern for patterns in rows for pattern in patterns)


def is_wanted(event_type: str, patterns: Sequence[str] | frozenset[str]) -> bool:
    """Whether one of the patterns is of this event; `*` matches any text."""
    return any(fnmatchcase(event_type, pattern) for pattern in patterns)


def webhook_get(*, webhook_id: UUID) -> Webhook:
    """One of them. Raises NotFound."""
    row = Webhook.objects.filter(pk=webhook_id).first()
    if row is None:
        raise NotFound(_("There is no webhook {webhook_id}.", webhook_id=webhook_id))
    return row


@audited("webhook.create", Webhook)
def webhook_create(*, name: str, url: str, events: Sequence[str], secret: str, enabled: bool = True) -> Webhook:
    """Subscribe. Raises InvalidFields naming every field that is wrong, Conflict for a name that is taken."""
    _check({"name": name, "url": url, "events": events, "secret": secret})
    row = Webhook(
        name=name.strip(), url=url, events=list(events), encrypted_secret=secret_encrypt(secret), enabled=enabled
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(_("There is a webhook {name!r} already.", name=name), field="name") from error
    transaction.on_commit(patterns_forget)
    return row


@audited("webhook.update", Webhook, by="webhook_id")
def webhook_update(*, webhook_id: UUID, **changes: Any) -> Webhook:
    """Change `url`, `events`, `enabled` or `secret`; an empty secret stays what it was. Raises as above, NotFound.

    A queue that was stopped goes on at once: the change may be what was wrong.
    """
    if not changes.get("secret"):
        changes.pop("secret", None)
    _check({name: value for name, value in changes.items() if name != "enabled"})
    if "secret" in changes:
        changes["encrypted_secret"] = secret_encrypt(changes.pop("secret"))
    if "events" in changes:
        changes["events"] = list(changes["events"])
    if not Webhook.objects.filter(pk=webhook_id).update(**changes, retry_at=None, updated_at=Now()):
        raise NotFound(_("There is no webhook {webhook_id}.", webhook_id=webhook_id))
    transaction.on_commit(patterns_forget)
    return Webhook.objects.get(pk=webhook_id)


@audited("webhook.delete", Webhook, by="webhook_id")
def webhook_delete(*, webhook_id: UUID) -> None:
    """With all its deliveries. Raises NotFound."""
    deleted, _rest = Webhook.objects.filter(pk=webhook_id).delete()
    if not deleted:
        raise NotFound(_("There is no webhook {webhook_id}.", webhook_id=webhook_id))
    transaction.on_commit(patterns_forget)


def webhook_queue_resume(*, webhook_id: UUID) -> None:
    """Let what waits be sent at once, though the receiver failed a while ago."""
    Webhook.objects.filter(pk=webhook_id, retry_at__isnull=False).update(retry_at=None)


def webhooks_enabled() -> QuerySet[Webhook]:
    """The webhooks that get events."""
    return Webhook.objects.filter(enabled=True)


def _check(given: Mapping[str, Any]) -> None:
    rules = {"name": _name_problem, "url": _url_problem, "events": _events_problem, "secret": _secret_problem}
    problems = {name: problem for name, value in given.items() if (problem := rules[name](value))}
    if problems:
        raise InvalidFields({name: [problem] for name, problem in problems.items()})


def _name_problem(name: object) -> str:
    fits = isinstance(name, str) and bool(name.strip()) and len(name) <= 64
    return "" if fits else _("A name has 1 to 64 characters.")


def _url_problem(url: object) -> str:
    try:
        parts = urlsplit(str(url))
        port = parts.port
    except ValueError as error:
        return _("This is no URL: {error}.", error=error)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or len(str(url)) > 2000:
        return _("A URL begins with http:// or https:// and names a host.")
    if any(char.isspace() or not char.isprintable() for char in str(url)) or not str(url).isascii():
        return _("A URL has no spaces; characters beyond ASCII are percent-encoded.")
    if parts.username or parts.password:
        return _("A URL holds no user and password: it is shown in lists. The signature tells who is calling.")
    return _address_problem(parts.hostname)


def _address_problem(host: str) -> str:
    """Of an address as it is written; what a name leads to is checked each time that something is sent there."""
    try:
        is_refused = not is_allowed(host, allowed_networks=notification_options().allowed_networks)
    except ValueError:
        return ""
    return _("Nothing is sent there: {refusal}.", refusal=refusal(host, NETWORKS_SETTING)) if is_refused else ""


def _events_problem(events: object) -> str:
    if not isinstance(events, list | tuple) or not 1 <= len(events) <= MAX_PATTERNS:
        return _(
            'A list of 1 to {max_patterns} patterns of event types; ["*"] is every event.', max_patterns=MAX_PATTERNS
        )
    fits = all(isinstance(each, str) and each.strip() == each and 0 < len(each) <= 100 for each in events)
    if not fits:
        return _("Each pattern has 1 to 100 characters, such as scheduler.*")
    idle = patterns_of_none(events)
    return _("No event is called {pattern!r:.100}: see the list in the documentation.", pattern=idle[0]) if idle else ""


def _secret_problem(secret: object) -> str:
    fits = isinstance(secret, str) and MIN_SECRET_CHARS <= len(secret) <= MAX_SECRET_CHARS
    return (
        ""
        if fits
        else _(
            "A secret has {min_secret_chars} to {max_secret_chars} characters.",
            min_secret_chars=MIN_SECRET_CHARS,
            max_secret_chars=MAX_SECRET_CHARS,
        )
    )
