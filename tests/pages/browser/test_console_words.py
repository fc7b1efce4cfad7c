"""Why a console ended, as its page says it in Chinese: the web server's words, and the page's own by the code alone."""

import json
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.pages.browser.conftest import OpenPage
from tests.worlds.cloud import People, active

pytestmark = [pytest.mark.browser, pytest.mark.long]

SOCKET = """([code, reason]) => {
  // A server that ends each stream at once: it stands in for the network, and notes what it was offered.
  window.WebSocket = class extends EventTarget {
    static OPEN = 1;
    constructor(address, protocols) {
      super();
      window.offered = protocols;
      setTimeout(() => this.dispatchEvent(new CloseEvent("close", { code, reason })), 0);
    }
    send() {}
    close() {}
  };
}"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [(4001, "由 mary 结束。", "由 mary 结束。"), (4003, "", "另一个控制台已接管串口。"), (1000, "", "控制台已关闭。")],
)
def test_page_asks_for_its_language(code: int, reason: str, said: str, open_page: OpenPage, people: People) -> None:
    instance = active(people.member)
    page: Any = open_page()
    page.context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": "zh-hans", "url": page.url}])
    page.add_init_script(f"({SOCKET})({json.dumps([code, reason])})")
    page.goto(f"/instances/{instance.pk}/console/serial/")
    expect(page.locator("[data-said]")).to_have_text(said)
    binary, token, *others = page.evaluate("window.offered")
    assert binary == "binary"
    assert token.startswith("kilonova.token.")
    assert others == ["kilonova.language.zh-hans", "kilonova.joined"]
