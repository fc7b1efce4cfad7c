"""What every test gets: isolation from a developer's state, hypothesis profiles, private servers on demand.

With DATABASE_URL=postgres://... the tests that use pytest-django's database run there instead of on SQLite
(`tests/run_postgres.py` starts a private cluster and does that).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

pytest_plugins = [
    "tests.fixtures.services",
    "tests.fixtures.processes",
    "tests.fixtures.races",
    "tests.fixtures.hypervisors",
    "tests.fixtures.receivers",
    "tests.fixtures.emptying",
    "tests.fixtures.s3_server",
    "tests.fixtures.agent_wheel",
]

# No deadline: on a small shared machine a slow example says nothing about the code.
hypothesis_settings.register_profile("dev", deadline=None, max_examples=50)
# The same few examples in every `make test`; `make test-long` asks for many more, and other ones each time.
hypothesis_settings.register_profile(
    "ci", deadline=None, max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.register_profile(
    "long", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=2000)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


# What can come out otherwise on another database: SQL of our own, locks, transactions that commit.
DIFFERING = (
    "tests/services/placement/",
    "tests/services/work/",
    "tests/services/notifications/",
    "tests/services/identity/",
    "tests/services/scheduling/decisions/",
    "tests/services/scheduling/destinations/",
    "tests/services/scheduling/fleet/",
    "tests/services/scheduling/topology/",
    "tests/services/servers/agent_api/",
    "tests/services/servers/conductor/",
    "tests/api/placement/openstack/",
    "tests/api/infra/",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--differing`: for a short run on another database than the usual one."""
    parser.addoption("--differing", action="store_true", help="only tests that may end otherwise on another database")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot differ, if so asked; keep tests that share a guest or an installation in one worker."""
    for item in items:
        if item.get_closest_marker("qemu"):
            item.add_marker(pytest.mark.xdist_group("qemu"))
        else:
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
    if not config.getoption("--differing"):
        return
    left = [item for item in items if not _may_differ(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if _may_differ(item)]


def _may_differ(item: pytest.Item) -> bool:
    if item.location[0].startswith(DIFFERING):
        return True
    database = item.get_closest_marker("django_db")
    return database is not None and bool(database.kwargs.get("transaction"))


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
