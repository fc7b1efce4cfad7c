"""What a hypervisor installs: the agent's modules and nothing of the control plane, on the packages of its own lock."""

import json
import subprocess
import tomllib
import zipfile
from pathlib import Path

from tests.fixtures.agent_wheel import PROJECT, locked
from tests.fixtures.processes import ROOT

NOT_ON_HYPERVISORS = ("computeagent/management/", "computeagent/apps.py")
IMPORT_ALL = """
import importlib, json, sys
wanted = json.loads(sys.argv[1])
for name in wanted:
    importlib.import_module(name)
# The inspectors of images are loaded by the first image.
assert sys.modules["controlplane.kernel.disk_images"].disk_format_detected(b"") == "raw"
files = {name.partition(".")[0]: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}
print(json.dumps([name for name, file in files.items() if "site-packages" in file]))
"""
OURS = {"computeagent", "controlplane"}


def run(directory: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def modules_of(wheel: Path) -> set[str]:
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if name.endswith(".py")}


def project(path: Path) -> dict[str, object]:
    return dict(tomllib.loads(path.read_text())["project"])


def test_wheel_has_the_agent_and_the_kernel_and_nothing_else(agent_wheel: Path) -> None:
    wanted = [*ROOT.glob("computeagent/**/*.py"), *ROOT.glob("controlplane/kernel/**/*.py")]
    paths = {str(path.relative_to(ROOT)) for path in wanted} | {"controlplane/__init__.py"}
    assert modules_of(agent_wheel) == {path for path in paths if not path.startswith(NOT_ON_HYPERVISORS)}


def test_every_module_of_the_wheel_works_on_its_own_packages(agent_wheel: Path, agent_venv: Path) -> None:
    names = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in modules_of(agent_wheel)]
    python = str(agent_venv / "bin/python")
    done = run(agent_venv, python, "-c", IMPORT_ALL, json.dumps(sorted(names)))
    assert done.returncode == 0, done.stderr
    third_party = set(json.loads(done.stdout)) - OURS
    assert {"msgspec", "oslo_utils", "pycdlib", "urllib3"} <= third_party
    assert not third_party & {"django", "numpy", "psycopg2", "redis", "rest_framework"}
    assert "No module named 'django'" in run(agent_venv, python, "-c", "import django").stderr


def test_programs_of_the_wheel_say_their_options(agent_venv: Path) -> None:
    for words in (["kilonova-agent"], ["python", "-m", "computeagent"]):
        said = run(agent_venv, str(agent_venv / "bin" / words[0]), *words[1:], "--help")
        assert "--control-plane" in said.stdout, said.stderr
        assert "--enrol-only" in said.stdout


def test_checkout_is_not_hidden_by_an_installed_wheel(agent_venv: Path) -> None:
    (packages,) = (agent_venv / "lib").glob("python*/site-packages")
    assert (packages / "computeagent").is_dir()
    code = "import computeagent, controlplane.kernel; print(computeagent.__file__, controlplane.kernel.__file__)"
    found = run(ROOT, str(agent_venv / "bin/python"), "-c", code).stdout.split()
    assert found == [str(ROOT / "computeagent/__init__.py"), str(ROOT / "controlplane/kernel/__init__.py")]


def test_both_projects_ask_for_the_same_versions() -> None:
    agent, whole = project(PROJECT / "pyproject.toml"), project(ROOT / "pyproject.toml")
    assert agent["name"] != whole["name"]
    assert agent["requires-python"] == whole["requires-python"]
    assert set(agent["dependencies"]) <= set(whole["dependencies"])  # type: ignore[call-overload]
    assert agent["optional-dependencies"] == whole["optional-dependencies"]
    assert locked("agent.lock").items() <= locked("base.lock").items()
    assert locked("build.lock").items() <= locked("dev.lock").items()
