"""Bulk actions of the Django admin, asked for and confirmed as a person does it."""

from collections.abc import Mapping
from typing import Any

from django.test import Client

from controlplane.infra.admin.confirmation import CONFIRMED, TYPED


def pairs(name: str, values: Mapping[str, object]) -> dict[str, list[str]]:
    """Rows of the editor of keys and values, a blank one among them, as a browser sends them."""
    return {f"{name}_key": [*values, ""], f"{name}_value": [*(str(one) for one in values.values()), ""]}


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
