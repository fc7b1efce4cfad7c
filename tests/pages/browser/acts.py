"""What happens beside the web server that a browser looks at: a program that does what it is told, a line each."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.fixtures.processes import ROOT

Acts = Callable[..., Any]


@contextmanager
def acts_on(env: Mapping[str, str]) -> Iterator[Acts]:
    """`acts("create", "web")` on the database of this environment."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, __file__], env=dict(env), cwd=ROOT, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        lines, answers = program.stdin, program.stdout

        def act(what: str, *words: str) -> Any:
            lines.write(json.dumps([what, words]) + "\n")
            lines.flush()
            return json.loads(answers.readline())

        yield act
        lines.close()


def serve() -> None:
    """Read acts from standard input and answer with JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
    import django

    django.setup()
    from controlplane.identity.models import User
    from controlplane.identity.selectors import caller_for_user
    from controlplane.work.hints import changed
    from scheduling.fleet.services.service_states import service_disable, service_enable
    from tests.worlds import cloud

    def world() -> None:
        cloud.cloud("h1", "h2")

    def create(name: str) -> str:
        return str(cloud.create(caller_for_user(user=User.objects.get(username="root")), name)[0].pk)

    def build() -> int:
        cloud.pump()
        return cloud.finish_builds()

    def burst(topic: str, seconds: str) -> None:
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            changed(topic)
            time.sleep(0.01)

    def disable(host: str) -> None:
        service_disable(host=host)

    def enable(host: str) -> None:
        service_enable(host=host)

    acts: dict[str, Any] = {each.__name__: each for each in (world, create, build, burst, disable, enable)}
    for line in sys.stdin:
        act, words = json.loads(line)
        print(json.dumps(acts[act](*words)), flush=True)


if __name__ == "__main__":
    serve()
