"""GET /api/search/."""

import pytest

from tests.worlds.cloud import People, client_of, cloud, create

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> People:
    return cloud("h1")


def test_each_finds_what_is_his(people: People) -> None:
    one = create(people.member, "web-1")[0]
    expected = {"kind": "instance", "key": str(one.pk), "name": "web-1", "note": "", "project": ""}

    for caller in (people.member, people.reader):
        answer = client_of(caller).get("/api/search/", {"q": "web-1"})
        assert answer.status_code == 200
        assert answer.json() == {"q": "web-1", "found": [expected], "more_of": []}
    assert client_of(people.admin).get("/api/search/", {"q": "web-1"}).json()["found"] == [
        expected | {"project": "demo"}
    ]
    assert client_of(people.stranger).get("/api/search/", {"q": "web-1"}).json()["found"] == []


@pytest.mark.parametrize("query", [{}, {"q": "a"}, {"q": "x" * 300}])
def test_a_refusal_names_the_field(people: People, query: dict[str, str]) -> None:
    answer = client_of(people.member).get("/api/search/", query)
    assert answer.status_code == 400
    assert "2 to 255 characters" in answer.text
    assert "q" in answer.text
