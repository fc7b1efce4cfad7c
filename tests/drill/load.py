"""The mixed load: creates, batches, deletes, what is done to power, and what the API promised about each."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from tests.drill.client import Client, NoAnswerError
from tests.drill.names import FLAVOR, IMAGES, image_name

ACTIONS = {
    "active": ("stop", "stop", "pause", "suspend", "reboot_soft", "reboot"),
    "stopped": ("start", "start"),
    "paused": ("unpause",),
    "suspended": ("resume",),
}
"""What a burst does to instances in each state: one thing to each, as far as there are instances."""


@dataclass
class Promises:
    """What the API accepted. `unsure`: the connection broke before the answer, so both is right."""

    created: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    requests: int = 0
    refused: int = 0
    broken: int = 0
    unexpected: list[str] = field(default_factory=list)

    def take_unexpected(self) -> list[str]:
        """Answers that no request may get, since the last call."""
        taken, self.unexpected = self.unexpected, []
        return taken


class Load:
    """Bursts of requests. `hosts` are named by some creates, so that every kind of hypervisor gets its part."""

    def __init__(self, client: Client, hosts: Sequence[str], rng: random.Random, *, max_instances: int = 24) -> None:
        self._client, self._hosts, self._rng = client, list(hosts), rng
        self._max_of = max_instances
        self._lock = threading.Lock()
        self._number = 0
        self._images_used = 1
        self.promises = Promises()

    def burst(self, instances: Sequence[dict[str, Any]], *, host: str = "", fresh_image: bool = False) -> None:
        """A handful of requests side by side; returns when each was answered or broke off.

        `instances` are those that there are, as the database has them; `host` gets the single create, with an image
        that no cache has yet if so wanted (there are IMAGES of them).
        """
        image = self._images_used % IMAGES if fresh_image else 0
        self._images_used += fresh_image
        calls = self._plan(list(instances), host, image)
        with ThreadPoolExecutor(len(calls)) as pool:
            done, _ = wait([pool.submit(call) for call in calls])
        for one in done:
            one.result()

    def _plan(self, instances: list[dict[str, Any]], host: str, image: int) -> list[Callable[[], None]]:
        rng = self._rng
        rng.shuffle(instances)
        by_state: dict[str, list[str]] = {}
        for one in instances:
            by_state.setdefault(one["vm_state"], []).append(str(one["id"]))
        actives, surplus = by_state.get("active", []), max(0, len(instances) - self._max_of)
        going = [*by_state.get("error", [])[:3], *actives[: 1 + surplus]]
        going += [uid for state in ("paused", "suspended") for uid in by_state.get(state, []) if rng.random() < 0.1]
        hurried = not host and rng.random() < 0.25
        wanted = host or rng.choice([*self._hosts, "", ""])
        calls: list[Callable[[], None]] = [
            lambda: self.create(1, host=wanted, image=image, then_delete=hurried),
            lambda: self.create(rng.randint(2, 3)),
        ]
        calls += [self._call(self.delete, uid) for uid in going]
        for state, actions in ACTIONS.items():
            staying = [uid for uid in by_state.get(state, []) if uid not in going]
            calls += [self._call(self.act, uid, action) for uid, action in zip(staying, actions, strict=False)]
        return calls

    @staticmethod
    def _call(verb: Callable[..., None], *arguments: str) -> Callable[[], None]:
        return lambda: verb(*arguments)

    def create(
        self,
        count: int,
        *,
        host: str = "",
        image: int = 0,
        then_delete: bool = False,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        """Ask for `count` instances, and delete them at once when told to: in whatever step they are."""
        body: dict[str, Any] = {"name": self._name(), "flavor": FLAVOR, "image": image_name(image), "min_count": count}
        if hints:
            body["hints"] = dict(hints)
        if host:
            body["availability_zone"] = f"nova:{host}"
        made = self._ask("instances/", body)
        if made is None:
            return
        ids = [str(one["id"]) for one in made["instances"]]
        with self._lock:
            self.promises.created.update(ids)
        for uid in ids if then_delete else ():
            self.delete(uid)

    def delete(self, uid: str) -> None:
        """Delete one."""
        answer = self._ask(f"instances/{uid}/", None, "DELETE", subject=uid, fine=(404,))
        if answer is not None:
            with self._lock:
                self.promises.deleted.add(uid)

    def act(self, uid: str, action: str) -> None:
        """Ask for one of `ACTIONS`."""
        self._ask(f"instances/{uid}/actions/", {"action": action}, subject=uid)

    def _name(self) -> str:
        with self._lock:
            self._number += 1
            return f"vm-{self._number}"

    def _ask(
        self, path: str, body: Any, method: str | None = None, *, subject: str = "", fine: tuple[int, ...] = ()
    ) -> Any:
        """The body of an accepted request ({} when it has none); None otherwise."""
        try:
            answer = self._client.call(path, body, method)
        except NoAnswerError:
            with self._lock:
                self.promises.broken += 1
                self.promises.requests += 1
                self.promises.unsure.add(subject)
            return None
        with self._lock:
            self.promises.requests += 1
            if answer.is_ok or answer.status in fine:
                return answer.body or {}
            self.promises.refused += 1
            # A conflict (409) is the state's right, 503 a database that is busy; anything else is a defect of ours.
            if answer.status not in {409, 503}:
                self.promises.unexpected.append(f"{method or 'POST'} {path}: {answer.status} {str(answer.body)[:300]}")
        return None
