"""The one place that says which release this is."""

import tomllib
from pathlib import Path

from controlplane.kernel.version import VERSION


def test_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
