"""The share of bulk jobs in the mixed load: a few things at once, some of which others change meanwhile."""

import random
import threading
from collections.abc import Sequence
from typing import Any

from tests.drill.asking import Ask

AT_ONCE = 3
ACTIONS = {"reboot": True, "stop": True, "pause": True, "unlock": False, "unprotect": False}
"""What is asked for, and whether the number must be confirmed. Jobs lock nothing: that keeps others from acting."""
CANCELLED = 0.2
"""Of so many jobs what has not begun is cancelled at once."""
RETRIED = 0.3
"""So many are tried again where items failed."""
DETACHED = 0.3
"""With so many, volumes are taken from their instances; one that its instance boots from stays, with the reason."""
RACED = (404, 409)


class BulkLoad:
    """Jobs side by side with what is asked for one by one: an item that is refused since the other came first is right;
    a job that does not end, is not (the verdict asks the database).
    """

    def __init__(self, ask: Ask, rng: random.Random) -> None:
        self._ask, self._rng = ask, rng
        self._lock = threading.Lock()
        self.begun: list[str] = []

    def begin(self, instances: Sequence[str]) -> None:
        """One job for some of these, and one for volumes that are in use; now and then one is cancelled, and an earlier
        one tried again.
        """
        chosen = self._rng.sample(list(instances), min(AT_ONCE, len(instances)))
        if chosen:
            action = self._rng.choice(list(ACTIONS))
            body: dict[str, Any] = {"kind": "instance", "action": action, "ids": chosen}
            self._job(body | ({"confirm": len(chosen)} if ACTIONS[action] else {}))
        if self._rng.random() < DETACHED:
            found = (self._ask("volumes/?state=in-use", None, "GET") or {}).get("results", [])
            if ids := [one["id"] for one in found[:AT_ONCE]]:
                self._job({"kind": "volume", "action": "detach", "ids": ids, "confirm": len(ids)})
        with self._lock:
            earlier = self._rng.choice(self.begun) if self.begun else ""
        if earlier and self._rng.random() < RETRIED:
            self._ask(f"bulk-jobs/{earlier}/retry/", {}, fine=RACED)

    def _job(self, body: dict[str, Any]) -> None:
        made = self._ask("bulk-jobs/", body)
        if not made:
            return
        with self._lock:
            self.begun.append(str(made["id"]))
        if self._rng.random() < CANCELLED:
            self._ask(f"bulk-jobs/{made['id']}/cancel/", {}, fine=RACED)
