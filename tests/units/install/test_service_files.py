"""The configurations below install/: the programs that read them take them. What they do is tried end to end."""

import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from controlplane.launcher.children import web_command
from controlplane.launcher.web.routes import largest_body
from tests.fixtures.processes import ROOT
from tests.fixtures.proxies import EXAMPLE_MACHINES, Caddy, Nginx, Proxy, certificates_make

AGENT, CONTROL_PLANE = ROOT / "install/agent", ROOT / "install/control-plane"


@pytest.mark.parametrize("is_mutual", [False, True], ids=["public", "mutual"])
@pytest.mark.parametrize("kind", [Nginx, Caddy])
def test_proxy_takes_its_configuration(kind: type[Proxy], is_mutual: bool, tmp_path: Path) -> None:
    certificates = certificates_make(tmp_path / "tls")
    done = kind(tmp_path / "proxy", certificates, EXAMPLE_MACHINES, is_mutual=is_mutual).check()
    assert done.returncode == 0, done.stderr


def nginx_largest_body(path: str) -> int | None:
    """What nginx lets through to this path, in bytes; None for any number. As nginx chooses among locations."""
    text = (ROOT / "install/web/nginx.conf").read_text()
    found = re.findall(r"location (?:(=|~) )?(\S+) \{(.*?)\n        \}", text, re.DOTALL)
    exact = [body for kind, at, body in found if kind == "=" and at == path]
    by_pattern = [body for kind, at, body in found if kind == "~" and re.match(at, path)]
    prefixes = sorted((at, body) for kind, at, body in found if not kind and path.startswith(at))
    chosen = (*exact, *by_pattern, prefixes[-1][1])[0]
    (mib,) = (
        re.findall(r"client_max_body_size (\d+)m?;", chosen) or re.findall(r"client_max_body_size (\d+)m;", text)[:1]
    )
    return int(mib) * 2**20 or None


@pytest.mark.parametrize("path", ["/agent/v1/report", "/admin/servers/image/add/", "/api/instances/", "/login/"])
def test_nginx_refuses_no_body_that_the_web_server_takes(path: str) -> None:
    assert (nginx_largest_body(path) or 0) >= largest_body(path)


@pytest.mark.parametrize("path", ["/agent/v1/upload_piece", "/api/images/one/file/", "/image/v2/images/one/file"])
def test_nginx_leaves_the_size_of_images_and_their_pieces_to_the_web_server(path: str) -> None:
    """It follows IMAGE_MAX_BYTES, also that of a piece where the store is S3."""
    assert nginx_largest_body(path) is None


UNITS = {
    AGENT / "kilonova-agent.service": "/opt/kilonova-agent/bin/kilonova-agent @/etc/kilonova/agent.conf",
    CONTROL_PLANE / "kilonova-web.service": "/opt/kilonova/.venv/bin/python manage.py web",
    CONTROL_PLANE / "kilonova-conductor.service": "/opt/kilonova/.venv/bin/python manage.py conductor",
}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_systemd_takes_the_unit(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    assert f"\nExecStart={UNITS[path]}" in text
    if shutil.which("systemd-analyze") is None:  # nothing here can read a unit; a hypervisor's systemd does
        return
    unit = tmp_path / path.name
    unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", text))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


def test_web_server_runs_under_systemd_as_the_launcher_runs_it() -> None:
    """But for the address and how many processes and threads there are."""
    (command,) = re.findall(r"^ExecStart=(.*)$", (CONTROL_PLANE / "kilonova-web.service").read_text(), re.MULTILINE)
    assert _fixed(shlex.split(command)) == _fixed(list(web_command(8000)))


def _fixed(arguments: list[str]) -> list[str]:
    chosen = arguments[arguments.index("web") :]
    return [one for before, one in pairwise(chosen) if before not in {"--bind", "--processes", "--threads"}]


def test_example_options_are_options(tmp_path: Path) -> None:
    """Those that are commented out too; the agent ends for want of a token, not for an option that it does not know."""
    config = tmp_path / "agent.conf"
    example = (AGENT / "agent.conf").read_text()
    lines = re.findall(r"^(?:# )?([a-z-]+ = .*)$", example, flags=re.MULTILINE)
    assert len(lines) >= 7
    config.write_text("\n".join([*lines, f"state = {tmp_path}"]))
    command = [sys.executable, "-m", "computeagent", f"@{config}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "agent_enrol --host hv-7" in done.stderr) == (1, True), done.stderr


def test_control_plane_and_agent_of_one_machine_keep_apart() -> None:
    """systemd gives a service's directory, and all below, to the service's user; QEMU's user passes the agent's."""
    directories = [re.findall(r"^StateDirectory=(.*)$", path.read_text(), re.MULTILINE) for path in UNITS]
    agent, *control_plane = (Path(name) for (name,) in directories)
    assert all(not agent.is_relative_to(one) and not one.is_relative_to(agent) for one in control_plane)
    assert f"KILONOVA_STATE=/var/lib/{control_plane[0]}\n" in (ROOT / "docs/hypervisor.md").read_text()


def test_manage_runs_as_the_services_do() -> None:
    unit, script = (CONTROL_PLANE / "kilonova-web.service").read_text(), (CONTROL_PLANE / "kilonova-manage").read_text()
    for name in ("User", "WorkingDirectory", "EnvironmentFile", "UMask"):
        (line,) = re.findall(rf"^{name}=.*$", unit, re.MULTILINE)
        assert f"--property={line} " in script
    assert "/opt/kilonova/.venv/bin/python manage.py " in script


def test_agent_ends_before_the_machine_shuts_its_guests_down() -> None:
    """So that nothing tells the control plane that they stopped, and they are started again with the machine."""
    (after,) = re.findall(r"^After=(.*)$", (AGENT / "kilonova-agent.service").read_text(), re.MULTILINE)
    assert "libvirt-guests.service" in after.split()
