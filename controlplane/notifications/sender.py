"""Carries deliveries out: a thread for each webhook that has something due, so that a slow one delays nobody else."""

import logging
import threading
import time
from os import getpid
from uuid import UUID

from django.db import connection

from controlplane.infra.request_id import HEADER, request_id_scope
from controlplane.kernel.errors import Fenced, Invalid
from controlplane.notifications.conf import notification_options
from controlplane.notifications.deliveries import (
    TakenDelivery,
    deliveries_expire,
    delivery_finish,
    delivery_take,
    webhooks_due,
)
from controlplane.notifications.fan_out import events_fan_out
from controlplane.notifications.http_client import WebhookResponse, http_post
from controlplane.notifications.models import Delivery
from controlplane.notifications.secret_encryption import secret_decrypt
from controlplane.notifications.serializer import body
from controlplane.notifications.signature import SIGNATURE_HEADER, signature

log = logging.getLogger(__name__)

MAX_THREADS = 8
MAX_AT_ONCE = 500


def notifications_deliver() -> None:
    """One round: make deliveries of new events, give up old ones, and see that what is due is being sent."""
    events_fan_out()
    deliveries_expire()
    _SENDERS.start_for(webhooks_due())


def webhook_drain(webhook_id: UUID) -> int:
    """Send what is due to one webhook, oldest first, until nothing is or it fails; gives how many were accepted."""
    sent = 0
    while sent < MAX_AT_ONCE:
        taken = delivery_take(webhook_id=webhook_id, owner=f"sender {getpid()}")
        if taken is None or not _delivered(taken):
            break
        sent += 1
    return sent


def _delivered(taken: TakenDelivery) -> bool:
    with request_id_scope(taken.row.notification.request_id):
        answer = _send(taken.row, taken.attempt)
        try:
            is_done = delivery_finish(taken=taken, answer=answer)
        except Fenced as error:
            log.warning("stopped: %s", error)
            return False
        if not is_done:
            log.warning(
                "webhook %s did not take %s: %s", taken.row.webhook.name, taken.row.notification, answer.problem
            )
        return is_done


def _send(row: Delivery, attempt: int) -> WebhookResponse:
    content, now = body(row.notification), int(time.time())
    try:
        secret = secret_decrypt(row.webhook.encrypted_secret)
    except Invalid as error:
        return WebhookResponse(None, error.message, "", 0)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "kilonova-webhook/1",
        SIGNATURE_HEADER: signature(secret=secret, timestamp=now, body=content),
        "X-Kilonova-Event": row.notification.event_type,
        "X-Kilonova-Delivery": str(row.pk),
        "X-Kilonova-Attempt": str(attempt),
    }
    if row.notification.request_id.startswith("req-"):
        headers[HEADER] = row.notification.request_id
    options = notification_options()
    return http_post(
        url=row.webhook.url,
        body=content,
        headers=headers,
        timeout_s=options.timeout_s,
        allowed_networks=options.allowed_networks,
    )


class _Senders:
    """Threads of this process, one for a webhook; a process that was forked begins with none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = getpid()
        self._busy: set[UUID] = set()

    def start_for(self, webhook_ids: list[UUID]) -> None:
        with self._lock:
            if self._pid != getpid():
                self._pid, self._busy = getpid(), set()
            free = [each for each in webhook_ids if each not in self._busy]
            begin = free[: max(0, MAX_THREADS - len(self._busy))]
            self._busy.update(begin)
        for webhook_id in begin:
            threading.Thread(target=self._work, args=(webhook_id,), name="webhook-sender", daemon=True).start()

    def _work(self, webhook_id: UUID) -> None:
        try:
            webhook_drain(webhook_id)
        except Exception:
            log.exception("the sender of webhook %s failed; what is due is sent later", webhook_id)
        finally:
            connection.close()
            with self._lock:
                self._busy.discard(webhook_id)


_SENDERS = _Senders()
