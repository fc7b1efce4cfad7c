"""The WebSocket's end of a console: what a viewer asks for beside its token, and the words at the end."""

import asyncio
from typing import Any

import pytest

from controlplane.launcher.web.console_ends import WebSocketEnd


async def _nothing_comes() -> dict[str, Any]:
    return {"type": "websocket.disconnect"}


async def _closed(offered: list[str], reason: str) -> tuple[str, list[dict[str, Any]]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    end = await WebSocketEnd.accepted(offered, _nothing_comes, send)
    await end.close(4001, reason)
    return end.language, sent


@pytest.mark.parametrize(
    ("offered", "language"),
    [
        (["binary", "kilonova.token.x", "kilonova.language.zh-hans"], "zh-hans"),
        (["binary", "kilonova.token.x", "kilonova.language."], ""),
        (["binary", "kilonova.token.x"], ""),
    ],
)
def test_page_says_in_which_language_it_is_told(offered: list[str], language: str) -> None:
    said, sent = asyncio.run(_closed(offered, "over"))
    assert said == language
    assert sent[0] == {"type": "websocket.accept", "subprotocol": "binary"}
    assert sent[1] == {"type": "websocket.close", "code": 4001, "reason": "over"}


def test_long_words_end_between_two_letters() -> None:
    _language, sent = asyncio.run(_closed([], "卷" * 100))
    assert sent[1]["reason"] == "卷" * 40
