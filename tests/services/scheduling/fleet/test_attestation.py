"""What an attestation service says reaches the scheduler, is kept for a while, and its absence trusts nobody."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scheduling.checks import options_problems
from scheduling.conf import SchedulingOptions
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.errors import NoValidHost
from scheduling.fleet.cache.attestation import PAUSE_S, TrustCache, hosts_poll, trust_levels
from scheduling.fleet.facts import FleetFacts
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling.fleet.fleet_world import fleet, request

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
TRUSTING = FlavorSnapshot(
    id="f", name="m1", vcpus=1, memory_mib=1024, root_gib=1, extra_specs={"trust:trusted_host": "trusted"}
)


class Service:
    """Answers that a test gives, and what it was asked."""

    def __init__(self, levels: Mapping[str, str], vtime: str = "2026-01-01T12:00:00Z") -> None:
        self.levels, self.vtime = levels, vtime
        self.asked: list[list[str]] = []

    def poll(self, nodes: Sequence[str]) -> list[dict[str, Any]]:
        """What Open Attestation's PollHosts answers."""
        self.asked.append(list(nodes))
        return [{"host_name": name, "trust_lvl": level, "vtime": self.vtime} for name, level in self.levels.items()]

    def fail(self, nodes: Sequence[str]) -> list[dict[str, Any]]:
        """As if nobody were there."""
        self.asked.append(list(nodes))
        raise ConnectionRefusedError("nobody there")


@pytest.fixture
def attester() -> Iterator[tuple[Service, str, list[str | None]]]:
    """A real HTTP server, its answers, its address, and the passwords it was given."""
    service, blobs = Service({"node-00": "untrusted", "node-01": "trusted"}), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/PollHosts"
            blobs.append(self.headers["X-Auth-Blob"])
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert asked["count"] == len(asked["hosts"])
            body = json.dumps({"hosts": service.poll(asked["hosts"])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield service, f"http://127.0.0.1:{server.server_address[1]}/v1/", blobs
    server.shutdown()
    server.server_close()


def test_nodes_are_polled_together_and_kept_for_the_lifetime() -> None:
    service, cache = Service({"a": "trusted", "b": "untrusted"}), TrustCache()
    first = cache.of(["b", "a"], poll=service.poll, lifetime_s=60, now=NOON + 1)
    assert cache.of(["a"], poll=service.poll, lifetime_s=60, now=NOON + 60) == {"a": "trusted"}
    assert (first, service.asked) == ({"a": "trusted", "b": "untrusted"}, [["a", "b"]])


def test_one_old_node_has_all_polled_again() -> None:
    service, cache = Service({"a": "trusted"}), TrustCache()
    cache.of(["a"], poll=service.poll, lifetime_s=60, now=NOON)
    service.levels = {"a": "untrusted"}
    assert cache.of(["a", "b"], poll=service.poll, lifetime_s=60, now=NOON + 61) == {"a": "untrusted", "b": "unknown"}


def test_answer_that_is_old_already_counts_once() -> None:
    service, cache = Service({"a": "trusted"}), TrustCache()
    for _ in range(2):
        assert cache.of(["a"], poll=service.poll, lifetime_s=60, now=NOON + 3600) == {"a": "trusted"}
    assert len(service.asked) == 2


def test_time_that_cannot_be_read_makes_the_host_unknown() -> None:
    service = Service({"a": "trusted"}, vtime="soon")
    assert TrustCache().of(["a"], poll=service.poll, lifetime_s=60, now=NOON) == {"a": "unknown"}


def test_service_that_cannot_be_asked_trusts_nobody_and_is_left_alone_for_a_while() -> None:
    service, cache = Service({"a": "trusted"}), TrustCache()
    for _ in range(3):
        assert cache.of(["a", "b"], poll=service.fail, lifetime_s=0, now=NOON) == {"a": "unknown", "b": "unknown"}
    assert len(service.asked) == 1
    again = cache.of(["a"], poll=service.poll, lifetime_s=0, now=NOON + PAUSE_S)
    assert again == {"a": "trusted"}


@pytest.mark.parametrize(
    "answer", [[{"host_name": "a"}], ["text"], "text", 7, [{"trust_lvl": "trusted", "vtime": "x"}]]
)
def test_answer_of_another_form_trusts_nobody(answer: Any) -> None:
    assert TrustCache().of(["a"], poll=lambda _: answer, lifetime_s=60, now=NOON) == {"a": "unknown"}


def test_service_is_asked_over_http(settings: Any, attester: tuple[Service, str, list[str | None]]) -> None:
    service, url, blobs = attester
    settings.KILONOVA = {**settings.KILONOVA, "ATTESTATION_URL": url, "ATTESTATION_AUTH_BLOB": "let me in"}
    states = hosts_poll(["node-00", "node-01"])
    assert (service.asked, blobs) == ([["node-00", "node-01"]], ["let me in"])
    assert states[1]["trust_lvl"] == "trusted"


@pytest.mark.django_db
def test_without_a_service_there_are_no_levels() -> None:
    fleet(1)
    assert trust_levels() == {}


@pytest.mark.django_db(transaction=True)
def test_trusted_host_is_chosen(settings: Any, attester: tuple[Service, str, list[str | None]]) -> None:
    fleet(2)
    settings.KILONOVA = {**settings.KILONOVA, "ATTESTATION_URL": attester[1], "ATTESTATION_LIFETIME_S": 0.0}
    policy_create(body={"filters": ["TrustedFilter"]}, activate=True)
    facts = FleetFacts(trust_levels=trust_levels())
    found = destinations_select(request=replace(request(), flavor=TRUSTING), inputs=scheduling_inputs(facts))
    assert found.instances[0].selected.host == "cmp-01"


@pytest.mark.django_db(transaction=True)
def test_nobody_attested_is_trusted_by_nobody() -> None:
    fleet(1)
    policy_create(body={"filters": ["TrustedFilter"]}, activate=True)
    with pytest.raises(NoValidHost, match="trusted as asked"):
        destinations_select(request=replace(request(), flavor=TRUSTING), inputs=scheduling_inputs(FleetFacts()))


def test_address_of_another_kind_is_a_problem() -> None:
    problems = options_problems(SchedulingOptions(attestation_url="file:///etc/passwd"))
    assert [one.id for one in problems] == ["scheduling.E004"]
