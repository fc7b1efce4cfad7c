"""The Placement API under load: any two servers that speak it, side by side, as ratios of medians.

    python bench/placement_http.py load URL [URL ...] --providers 1000
    python bench/placement_http.py compare URL_A URL_B --providers 1000

URLs are the roots of the API (http://127.0.0.1:8123/placement). `load` makes the same providers on each server: VCPU
64 at ratio 4, 512 GiB of memory, 4 TB of disk, 3 to 5 traits, one of ten aggregates, up to ten consumers. `compare`
asks both in turn, so that whatever else the machine does falls on both: reads one request at a time on a kept-alive
connection, `--in-a-row` of them before the other's turn comes, claims by 8 processes. With `--in-a-row 1` each answer
begins with caches that the other has just filled, which costs the faster one more. One line per case: median of A,
median of B in milliseconds, and how many times faster B is; for claims, claims per second. What is claimed is freed
again.
"""

import argparse
import http.client
import json
import multiprocessing
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import urlsplit

SPACE = uuid.UUID("7b0f3a3e-5f0a-4f0e-9f57-8e6a2f1f3d11")
AGGREGATES = [str(uuid.uuid5(SPACE, f"aggregate {number}")) for number in range(10)]
FLAVOR = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
# Room for a million claims of one unit each, and of no more, so that no search ever finds it.
HOT = str(uuid.uuid5(SPACE, "hot"))
HOT_STOCK = {name: {"total": 1_000_000, "max_unit": 1} for name in FLAVOR}
ONE_OF_EACH = dict.fromkeys(FLAVOR, 1)
ASK = "/allocation_candidates?resources=" + ",".join(f"{name}:{amount}" for name, amount in FLAVOR.items())
READS = {
    "provider": "/resource_providers/{first}",
    "candidates, limit 1000": ASK + "&limit=1000",
    "candidates, limit 1": ASK + "&limit=1",
    "candidates, trait and aggregate": ASK + f"&required=HW_CPU_X86_AVX2&member_of={AGGREGATES[0]}&limit=1000",
    "candidates, forbidden trait": ASK + "&required=!COMPUTE_STATUS_DISABLED&limit=1000",
    "candidates, nothing fits": ASK.replace("MEMORY_MB:4096", "MEMORY_MB:9000000") + "&limit=1000",
}
PROCESSES = 8
WARM_UP = 3

Claims = tuple[int, float, int]  # how many, in how many seconds, how many answers other than 204


class Server:
    """One kept-alive connection to one server."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._prefix = parts.path.rstrip("/")
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
        self._headers = {
            "X-Auth-Token": token,
            "OpenStack-API-Version": "placement 1.36",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, self._prefix + path, data, self._headers)
        response = self._connection.getresponse()
        return response.status, response.read()

    def must(self, method: str, path: str, body: object = None) -> bytes:
        """The body; stops the run at any answer that is an error."""
        status, answer = self.ask(method, path, body)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {answer[:300]!r}")
        return answer


def provider_uuid(number: int) -> str:
    """The same on every server."""
    return str(uuid.uuid5(SPACE, f"provider {number}"))


def provider_make(server: Server, number: int) -> None:
    """One provider with all that belongs to it; how full it is depends on its number alone."""
    path = f"/resource_providers/{provider_uuid(number)}"
    server.must("POST", "/resource_providers", {"name": f"host-{number:05}", "uuid": provider_uuid(number)})
    stock = {
        "VCPU": {"total": 64, "allocation_ratio": 4.0},
        "MEMORY_MB": {"total": 512 * 1024, "reserved": 512},
        "DISK_GB": {"total": 4096},
    }
    server.must("PUT", path + "/inventories", {"resource_provider_generation": 0, "inventories": stock})
    traits = ["COMPUTE_VOLUME_ATTACH", "COMPUTE_NET_ATTACH_INTERFACE", "HW_CPU_X86_SSE42"]
    traits += ["HW_CPU_X86_AVX2"] * (number % 2 == 0) + ["COMPUTE_STATUS_DISABLED"] * (number % 50 == 0)
    server.must("PUT", path + "/traits", {"resource_provider_generation": 1, "traits": traits})
    aggregates = {"resource_provider_generation": 2, "aggregates": [AGGREGATES[number % 10]]}
    server.must("PUT", path + "/aggregates", aggregates)
    held = {"VCPU": 4, "MEMORY_MB": 16384, "DISK_GB": 80}
    consumers = range(random.Random(number).randint(0, 10))
    full = {str(uuid.uuid5(SPACE, f"{number} {each}")): claim_body(provider_uuid(number), held) for each in consumers}
    if full:
        server.must("POST", "/allocations", full)


def claim_body(provider: str, resources: dict[str, int]) -> dict[str, object]:
    """The allocations of a new consumer."""
    return {
        "allocations": {provider: {"resources": resources}},
        "project_id": AGGREGATES[0],
        "user_id": AGGREGATES[1],
        "consumer_generation": None,
    }


def load(url: str, token: str, count: int) -> None:
    """Make the fleet, three requests at a time; aggregates and project are known before that begins."""
    first, rest = range(min(10, count)), range(10, count)
    server = Server(url, token)
    server.must("POST", "/resource_providers", {"name": "hot", "uuid": HOT})
    stock = {"resource_provider_generation": 0, "inventories": HOT_STOCK}
    server.must("PUT", f"/resource_providers/{HOT}/inventories", stock)
    for number in first:
        provider_make(server, number)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda part: [provider_make(Server(url, token), each) for each in part], _parts(rest, 3)))


def _parts(numbers: Sequence[int], count: int) -> Iterator[Sequence[int]]:
    return (numbers[start::count] for start in range(count))


def read_both(servers: Sequence[Server], path: str, times: int, in_a_row: int) -> list[float]:
    """Median milliseconds of each server, asked in turn."""
    took: list[list[float]] = [[] for _ in servers]
    for server in servers:
        for _ in range(WARM_UP):
            server.must("GET", path)
    while len(took[0]) < times:
        for server, results in zip(servers, took, strict=True):
            for _ in range(in_a_row):
                begin = time.perf_counter()
                server.must("GET", path)
                results.append((time.perf_counter() - begin) * 1000)
    return [statistics.median(each) for each in took]


def claims_by_one(url: str, token: str, chosen: Sequence[str]) -> Claims:
    """One process claims its share, one after the other, then frees it."""
    server = Server(url, token)
    consumers = [str(uuid.uuid4()) for _ in chosen]
    begin, refused = time.perf_counter(), 0
    for consumer, provider in zip(consumers, chosen, strict=True):
        status, _ = server.ask("PUT", f"/allocations/{consumer}", claim_body(provider, ONE_OF_EACH))
        refused += status != 204
    seconds = time.perf_counter() - begin
    for consumer in consumers:
        server.ask("DELETE", f"/allocations/{consumer}")
    return len(chosen) - refused, seconds, refused


def claims_per_second(url: str, token: str, choose: Callable[[random.Random], str], each: int) -> tuple[float, int]:
    """All processes together; and how many answers were no 204."""
    rng = random.Random(42)
    shares = [[choose(rng) for _ in range(each)] for _ in range(PROCESSES)]
    with multiprocessing.Pool(PROCESSES) as pool:
        results = pool.map(partial(claims_by_one, url, token), shares, chunksize=1)
    return sum(done for done, _, _ in results) / max(seconds for _, seconds, _ in results), sum(
        r for _, _, r in results
    )


def compare(urls: Sequence[str], tokens: Sequence[str], given: argparse.Namespace) -> None:
    """Every case on both servers."""
    count, times = given.providers, given.times
    asked = list(zip(urls, tokens, strict=True))
    servers = [Server(url, token) for url, token in asked]
    for case, path in READS.items():
        first, second = read_both(servers, path.format(first=provider_uuid(0)), times, given.in_a_row)
        print(f"{count} providers  {case:34} {first:9.2f} ms {second:9.2f} ms   {first / second:6.1f} times faster")
    spread = lambda rng: provider_uuid(rng.randrange(count))  # noqa: E731
    for case, choose in (("claims, spread", spread), ("claims, one provider", lambda _: HOT)):
        (slow, lost), (fast, missed) = (claims_per_second(*one, choose, times) for one in asked)
        rates = f"{slow:9.0f} /s ({lost} no) {fast:9.0f} /s ({missed} no)"
        print(f"{count} providers  {case:34} {rates}   {fast / slow:6.1f} times more")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["load", "compare"])
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--providers", type=int, default=1000)
    parser.add_argument("--times", type=int, default=60, help="requests of each case; claims of each process")
    parser.add_argument("--in-a-row", type=int, default=10, help="requests before the other server's turn")
    parser.add_argument("--token", nargs="+", default=["admin"], help="one for all servers, or one for each")
    given = parser.parse_args()
    tokens = given.token * len(given.urls) if len(given.token) == 1 else given.token
    if len(tokens) != len(given.urls):
        parser.error("give one token, or one for each URL")
    if given.what == "load":
        for url, token in zip(given.urls, tokens, strict=True):
            load(url, token, given.providers)
    elif len(given.urls) == 2:
        compare(given.urls, tokens, given)
    else:
        parser.error("compare takes two URLs")


if __name__ == "__main__":
    main()
