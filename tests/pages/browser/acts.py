"""What happens beside the web server that a browser looks at: a program that does what it is told, a line each.

Once it has a fleet to tend, it is also the heartbeat and the hands of its hosts, and their conductor.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, Queue
from threading import Thread
from typing import Any

from tests.fixtures.processes import ROOT

Acts = Callable[..., Any]
LOOK_S = 0.1


@contextmanager
def acts_on(env: Mapping[str, str]) -> Iterator[Acts]:
    """`acts("create", "web")` on the database of this environment; what can be done is in `happenings`."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, __file__], env=dict(env), cwd=ROOT, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        lines, answers = program.stdin, program.stdout

        def act(what: str, *words: str) -> Any:
            lines.write(json.dumps([what, words]) + "\n")
            lines.flush()
            said = json.loads(answers.readline())
            assert "error" not in said, f"{what}{words}: {said['error']}"
            return said["answer"]

        yield act
        lines.close()


def serve() -> None:
    """Read acts from standard input and answer with JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
    import django

    django.setup()
    from tests.pages.browser import happenings

    told = _lines()
    while True:
        try:
            line = told.get(timeout=LOOK_S if happenings.FLEET.is_tended else None)
        except Empty:
            happenings.FLEET.turn(LOOK_S)
            continue
        if not line:
            return
        act, words = json.loads(line)
        try:
            said = {"answer": happenings.ACTS[act](*words)}
        except Exception as error:  # noqa: BLE001 - told to the test, which fails of it
            said = {"error": repr(error)}
        print(json.dumps(said), flush=True)


def _lines() -> "Queue[str]":
    """What is told, and in the end nothing."""
    told: Queue[str] = Queue()

    def read() -> None:
        for line in sys.stdin:
            told.put(line)
        told.put("")

    Thread(target=read, daemon=True).start()
    return told


if __name__ == "__main__":
    serve()
