"""What every test gets: isolation from a developer's state, hypothesis profiles, private servers on demand.

With DATABASE_URL=postgres://... the tests that use pytest-django's database run there instead of on SQLite
(`tests/run_postgres.py` starts a private cluster and does that).
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

pytest_plugins = [
    "tests.fixtures.second_tries",
    "tests.fixtures.spending",
    "tests.fixtures.processes",
    "tests.fixtures.migrated",
    "tests.fixtures.live",
    "tests.fixtures.services",
    "tests.fixtures.races",
    "tests.fixtures.hypervisors",
    "tests.fixtures.receivers",
    "tests.fixtures.emptying",
    "tests.fixtures.remembering",
    "tests.fixtures.s3_server",
    "tests.fixtures.agent_wheel",
]

# No deadline: on a small shared machine a slow example says nothing about the code.
hypothesis_settings.register_profile("dev", deadline=None, max_examples=50)
# The same few examples each time, for properties that stand in other folders; `make test-long` asks for many more.
hypothesis_settings.register_profile(
    "ci", deadline=None, max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.register_profile(
    "long", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=2000)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


# As the Makefile looks for the files that it gives to the lanes of tests that wait: {of a lane: what its files name}.
NAMED = {("processes", "browser"): "processes|browser", ("qemu",): "qemu", ("long",): "processes|qemu|browser|long"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that waits stands in a file that the Makefile finds, and one that opens a browser says so."""
    opens = {item.path for item in items if "chromium" in getattr(item, "fixturenames", ())}
    if silent := sorted(map(str, opens - {item.path for item in items if item.get_closest_marker("browser")})):
        raise pytest.UsageError(f"Tests of {', '.join(silent)} open a browser and are not marked so.")
    for marks, names in NAMED.items():
        named = re.compile(rf"mark\.({names})\b|_contract import")
        waiting = {item.path for item in items if any(map(item.get_closest_marker, marks))}
        if missed := sorted(str(path) for path in waiting if not named.search(path.read_text())):
            raise pytest.UsageError(f"The Makefile does not find the {marks[0]} tests of {', '.join(missed)}.")


@pytest.fixture(scope="session", autouse=True)
def isolated_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state directory of this test process, for the settings here and for processes that tests start."""
    state = tmp_path_factory.mktemp("state")
    before = os.environ.get("KILONOVA_STATE")
    os.environ["KILONOVA_STATE"] = str(state)
    settings.STATE_DIR = state
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": state / "images"}
    yield state
    if before is None:
        del os.environ["KILONOVA_STATE"]
    else:
        os.environ["KILONOVA_STATE"] = before
