"""What a web server is given, and how many files it may open."""

import resource
import subprocess
import sys

import pytest

from controlplane.kernel.errors import Invalid
from controlplane.launcher.web.processes import OTHER_FILES, WebServerOptions, connections_allowed
from tests.fixtures.processes import ROOT


@pytest.mark.parametrize(
    ("wrong", "field"), [({"processes": 0}, "processes"), ({"threads": 300}, "threads"), ({"grace_s": 0}, "grace")]
)
def test_numbers_that_cannot_work_are_refused_by_name(wrong: dict[str, int], field: str) -> None:
    with pytest.raises(Invalid, match=f"--{field} must be") as refused:
        WebServerOptions(**wrong)  # type: ignore[arg-type]
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("soft", "hard", "allowed", "left"),
    [
        (1024, 1_048_576, 10_000, 10_000 + OTHER_FILES),
        (1024, resource.RLIM_INFINITY, 10_000, 10_000 + OTHER_FILES),
        (65_536, 65_536, 10_000, 65_536),
        (1024, 4096, 4096 - OTHER_FILES, 4096),
        (256, 256, 128, 256),
    ],
)
def test_limit_of_files_is_raised_as_far_as_it_may_be_or_bounds_connections(
    soft: int, hard: int, allowed: int, left: int
) -> None:
    assert connections_allowed(10_000, soft=soft, hard=hard) == (allowed, left)


def test_address_that_is_taken_or_none_is_said_in_a_sentence() -> None:
    for bind, why in (("here", "must be an address and a port"), ("192.0.2.1:80", "cannot be listened on")):
        done = subprocess.run(
            [sys.executable, "manage.py", "web", "--bind", bind], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert why in done.stderr
        assert "Traceback" not in done.stderr
