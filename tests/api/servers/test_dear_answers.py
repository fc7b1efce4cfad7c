"""What costs seconds is asked for one at a time, and what nobody needs to make twice is kept."""

import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.infra.answer_budget import answer_budget
from controlplane.infra.api.schema import CachedSchema
from tests.fixtures.spending import PROCESSES, spend
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
ASKED = {"flavor": "m1.tiny", "image": "demo"}


def test_explanation_is_worked_out_once_at_a_time_for_a_project() -> None:
    people = world.cloud()
    reader = world.client_of(people.reader)
    key = f"explain:{people.reader.project_id}"
    with answer_budget.spend(key, seconds_a_minute=10):
        refused = reader.post("/api/schedule/explain/", ASKED, format="json")
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "throttled"
        assert int(refused["Retry-After"]) >= 1
        assert world.client_of(people.stranger).post("/api/schedule/explain/", ASKED, format="json").status_code == 200
    assert reader.post("/api/schedule/explain/", ASKED, format="json").status_code == 200


def test_page_of_what_would_help_says_so() -> None:
    people = world.cloud()
    world.create(people.member, flavor=world.flavor("huge", memory_mib=20_000).name)
    world.pump()
    client = Client()
    client.login(username="rita", password=world.PASSWORD)
    decision = world.client_of(people.reader).get("/api/decisions/").json()["results"][0]["id"]
    with answer_budget.spend(f"explain:{people.reader.project_id}", seconds_a_minute=10):
        page = client.post(f"/decisions/{decision}/help/")
    assert page.status_code == 429
    assert "Another answer is being worked out" in page.content.decode()


def test_schema_is_made_once_and_says_what_is_taken_and_answered() -> None:
    first, second = (Client().get("/api/schema/?format=json") for _ in range(2))
    assert first.content == second.content
    assert first.json()["openapi"].startswith("3.")
    assert Client().get("/api/schema/").content != first.content
    assert len(CachedSchema.made) <= 4
    for unknown in ("version", "lang"):
        assert Client().get(f"/api/schema/?format=json&{unknown}=9").json()["error"]["field"] == unknown
    said = first.json()
    assert said["components"]["schemas"]["ProjectBody"]["additionalProperties"] is False
    for name in ("actions", "interfaces", "volumes"):
        answered = said["paths"][f"/api/instances/{{id}}/{name}/"]["get"]["responses"]["200"]["content"]
        assert answered["application/json"]["schema"]["type"] == "array", name


ASK_AT_ONCE = """
import threading
from concurrent.futures import ThreadPoolExecutor
import django
django.setup()
from django.test import Client
from django.urls import get_resolver
get_resolver().url_patterns
together = threading.Barrier(6)
def ask(_):
    together.wait()
    return Client(raise_request_exception=False).get("/api/schema/?format=json").status_code
with ThreadPoolExecutor(6) as threads:
    print(sorted(threads.map(ask, range(6))))
"""


def test_schema_that_several_ask_for_first_of_all_in_a_process_is_given_to_each() -> None:
    spend(PROCESSES)
    done = subprocess.run([sys.executable, "-c", ASK_AT_ONCE], capture_output=True, text=True, check=False)
    assert done.stdout == "[200, 200, 200, 200, 200, 200]\n", done.stderr[-2000:]


def test_readiness_is_looked_at_once_a_second_however_many_ask(settings: Any) -> None:
    settings.KILONOVA = {**django_settings.KILONOVA, "READY_CACHE_S": 60.0}
    Client().get("/readyz")
    with CaptureQueriesContext(connection) as queries:
        first, second = Client().get("/readyz"), Client().get("/readyz")
    assert first.json() == second.json()
    assert len(queries) == 0


def test_page_of_the_document_loads_its_own_script() -> None:
    """Swagger UI asks for it by a parameter of its address; the page is no route of the API's."""
    page = Client().get("/api/docs/")
    assert "/api/docs/?script=" in page.text
    script = Client().get("/api/docs/?script=")
    assert (script.status_code, "SwaggerUIBundle" in script.text) == (200, True)
