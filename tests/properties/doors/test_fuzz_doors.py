"""Requests made of the documents of all doors and of `/api/`, as an administrator and as a member: none is answered
with a mistake of the server, and each answer is what its document says. What is asked for is undone after each request.

KILONOVA_FUZZ_EXAMPLES asks for so many right requests of each operation and half as many wrong ones, KILONOVA_FUZZ_SEED
for others.
"""

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import transaction
from django.test import Client, override_settings
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from controlplane.identity.services import token_issue
from controlplane.launcher.openstack_doors import DOORS
from controlplane.openstack.openapi.document import MAY_BE_EMPTY
from servers.openstack.image.json_patch import MEDIA_V2_0, MEDIA_V2_1
from tests.worlds.cloud import PASSWORD
from tests.worlds.everything import Installation, installation

for media_type in (MEDIA_V2_0, MEDIA_V2_1):
    schemathesis.serializer.alias(media_type, "application/json")

pytestmark = [pytest.mark.long, pytest.mark.django_db]

EXAMPLES = int(os.environ.get("KILONOVA_FUZZ_EXAMPLES", "4"))
SEED = int(os.environ.get("KILONOVA_FUZZ_SEED", "1"))
FORMS = [content_type_conformance, response_schema_conformance]
DOCUMENTS = {**{f"/{name}/openapi.json": name for name in DOORS}, "/api/schema/?format=json": ""}
MEANT = 0.7
"""Of values that may name something, so many do."""


def mistake_of_the_server(_context: Any, response: Any, case: Case) -> None:
    """What is not provided (501) or not there for now (503) is said on purpose."""
    assert response.status_code < 500 or response.status_code in (501, 503), f"{case.method} {case.path}"


@pytest.fixture(scope="module")
def world(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[tuple[Installation, Mapping[str, str]]]:
    """The installation, and the tokens of who asks; gone after the last test."""
    changed = {**django_settings.KILONOVA, "NETWORK_KIND": "bridge", "IMAGE_DIR": tmp_path_factory.mktemp("images")}
    with override_settings(KILONOVA=changed), django_db_blocker.unblock(), transaction.atomic():
        found = installation()
        tokens = {
            name: token_issue(username=getattr(found.people, name).username, password=PASSWORD).token for name in WHO
        }
        yield found, tokens
        transaction.set_rollback(True)


WHO = ("admin", "member")
SUBJECT = "X-Subject-Token"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_request_is_answered_otherwise_than_the_document_says(
    document: str, world: tuple[Installation, Mapping[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    place, tokens = world
    caplog.set_level(logging.ERROR)
    asking = _Asking(place, tokens, DOCUMENTS[document], caplog)
    problems: list[str] = []
    for result in _schema(document).get_all_operations():
        operation = result.ok()
        # A part of a path is any text, so a request of nothing else cannot be wrong: a search for one would be long.
        can_be_wrong = bool(operation.query or operation.body)
        for mode in GenerationMode if can_be_wrong else (GenerationMode.POSITIVE,):
            _fuzz(operation, mode, asking, problems)
    assert not problems, f"{len(problems)} problems:\n" + "\n\n".join(problems)
    assert asking.answers[401] < sum(asking.answers.values()) / 20, "Who asks is not known: nothing is tried."


def _schema(document: str) -> Any:
    """What a document says, without what is said of each request here: who asks, and in which version. Where these are
    known to be parameters, most requests that are wrong on purpose have nothing wrong but them.
    """
    found: dict[str, Any] = Client().get(document).json()
    operations = [one for methods in found["paths"].values() for one in methods.values() if isinstance(one, dict)]
    for said in (found, *operations):
        said.pop("security", None)
    for one in operations:
        one["parameters"] = [each for each in one.get("parameters", ()) if each != VERSION]
    schema = schemathesis.openapi.from_dict(found)
    schema.app = WSGIHandler()
    return schema


VERSION = {"$ref": "#/components/parameters/microversion"}


class _Asking:
    """Sends cases, as one of those who ask, with values that mean something."""

    def __init__(
        self, place: Installation, tokens: Mapping[str, str], door: str, log: pytest.LogCaptureFixture
    ) -> None:
        self.place, self.tokens, self.door, self.log = place, tokens, door, log
        # What is refused is described by the text of `/api/`, and not by its document.
        self.checks = [status_code_conformance, *FORMS] if door else FORMS
        self.answers: Counter[int] = Counter()

    def send(self, case: Case, random: Random) -> str:
        """What is wrong with the answer; empty where nothing is."""
        self.log.clear()
        self._meant(case, random)
        with transaction.atomic():
            try:
                response = case.call()
            finally:
                transaction.set_rollback(True)
        self.answers[response.status_code] += 1
        said = case.operation.definition.raw["responses"].get("2XX", {})
        is_empty = bool(said.get(MAY_BE_EMPTY)) and response.status_code < 300 and not response.content
        checks = [one for one in self.checks if not (is_empty and one in FORMS)]
        try:
            case.validate_response(response, checks=[mistake_of_the_server, *checks])
        except (Exception, BaseExceptionGroup) as failure:  # noqa: BLE001 - each is reported
            trace = "\n".join(record.exc_text or record.getMessage() for record in self.log.records)[-3000:]
            said = f"{case.method} {case.formatted_path} {case.query} {case.body!r:.600}".replace("\\n", " ")
            return f"{said}\n{response.status_code} {failure!s:.700}\n{trace}"
        return ""

    def _meant(self, case: Case, random: Random) -> None:
        case.headers["X-Auth-Token"] = self.tokens[random.choice(WHO)]
        door = DOORS.get(self.door)
        if door is not None and door.versions is not None:
            newest, oldest = door.versions.max_minor, door.versions.min_minor
            until = str(case.operation.definition.raw.get("x-openstack-until", "")).rpartition(".")[2]
            minor = int(until or newest) if random.random() < MEANT else random.randint(oldest, newest)
            case.headers["OpenStack-API-Version"] = f"{door.versions.service_type} {door.versions.text(minor)}"
        if random.random() < MEANT and SUBJECT in case.headers:
            case.headers[SUBJECT] = self.tokens[random.choice(WHO)]
        for name in case.path_parameters or {}:
            below = case.path.partition(f"/{{{name}}}")[0].rpartition("/")[2]
            case.path_parameters[name] = self._value(name, case.path_parameters[name], random, below)
        for name in case.query or {}:
            case.query[name] = self._value(name, case.query[name], random)
        case.body = self._body(case.body, random)

    def _value(self, name: str, value: Any, random: Random, below: str = "") -> Any:
        chosen = self.place.chosen(name, random, below=below) if random.random() < MEANT else None
        return value if chosen is None else chosen

    def _body(self, body: Any, random: Random) -> Any:
        if isinstance(body, dict):
            return {
                key: self._value(key, value, random) if isinstance(value, str) else self._body(value, random)
                for key, value in body.items()
            }
        return [self._body(one, random) for one in body] if isinstance(body, list) else body


def _fuzz(operation: Any, mode: GenerationMode, asking: _Asking, problems: list[str]) -> None:
    found: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES if mode is GenerationMode.POSITIVE else (EXAMPLES + 1) // 2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), random=st.randoms(use_true_random=False))
    def asked(case: Case, random: Random) -> None:
        if problem := asking.send(case, random):
            found.append(problem)

    with suppress(Unsatisfiable):  # nothing can be wrong about what may be anything, or right about what is never taken
        asked()
    problems += found[:2]
