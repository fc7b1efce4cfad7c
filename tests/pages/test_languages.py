"""Pages speak the language chosen in the browser, else one that it asks for; programs are answered in English."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
CHINESE = "zh-CN,zh;q=0.9,en;q=0.8"


def test_browser_is_answered_in_the_first_of_its_languages_that_there_is(client: Client) -> None:
    page = client.get("/login/", headers={"accept-language": CHINESE})
    assert page["Content-Language"] == "zh-hans"
    assert "Accept-Language" in page["Vary"]
    assert '<html lang="zh-hans"' in page.content.decode()
    assert client.get("/login/", headers={"accept-language": "fr"})["Content-Language"] == "en"


def test_what_was_chosen_in_the_browser_counts_more(client: Client) -> None:
    chosen = client.post("/language/", {"language": "en", "next": "/login/"}, headers={"accept-language": CHINESE})
    assert chosen["Location"] == "/login/"
    assert client.get("/login/", headers={"accept-language": CHINESE})["Content-Language"] == "en"
    client.post("/language/", {"language": "zh-hans"})
    assert client.get("/login/")["Content-Language"] == "zh-hans"


@pytest.mark.parametrize("wanted", ["", "fr", "../../en", "<b>"])
def test_language_that_there_is_not_is_forgotten_and_no_other_site_is_led_to(client: Client, wanted: str) -> None:
    client.post("/language/", {"language": "zh-hans"})
    answer = client.post("/language/", {"language": wanted, "next": "https://example.org/"})
    assert answer["Location"] == "/"
    assert client.get("/login/")["Content-Language"] == "en"


def test_programs_are_answered_in_english(client: Client) -> None:
    answer = client.get("/api/instances/", headers={"accept-language": CHINESE})
    assert answer.status_code == 401
    assert answer.content.isascii()
    assert "Content-Language" not in answer
