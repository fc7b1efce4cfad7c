"""Bulk actions of the Django admin, asked for and confirmed as a person does it."""

from typing import Any

from django.test import Client

from controlplane.infra.admin.confirmation import CONFIRMED, TYPED


def ask(client: Client, url: str, action: str, pks: list[str], **more: str) -> Any:
    """Choose rows and an action, and press Go."""
    return client.post(url, {"action": action, "_selected_action": pks, **more})


def confirm(client: Client, url: str, asked: Any, *, typed: str = "") -> Any:
    """Press the button of the page that asks."""
    shown = asked.context
    sent = {"action": shown["action"], "_selected_action": shown["keys"], CONFIRMED: shown["confirmed"], TYPED: typed}
    return client.post(url, {**sent, "select_across": "1" if shown["select_across"] else "0"}, follow=True)


def ask_and_confirm(client: Client, url: str, action: str, pks: list[str]) -> Any:
    """Both."""
    return confirm(client, url, ask(client, url, action, pks))
