"""The launcher's parts that need no running process."""

import fcntl
import io
import json
import os
import shutil
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from computeagent.drivers.libvirt.private.daemon import private_daemon_impossible
from computeagent.networks.places.probe import places_lack
from computeagent.volumes.factory import host_pools
from controlplane.identity.services import AdminBootstrap
from controlplane.kernel.errors import Invalid
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.children import agent_command, child_specs
from controlplane.launcher.down import down_run, up_limit_s
from controlplane.launcher.hypervisors import hypervisors_prepare, machine_share, network_carriers, networks_of
from controlplane.launcher.networks import networks_prepare
from controlplane.launcher.options import HypervisorKind, UpOptions
from controlplane.launcher.seed import DEMO_IMAGE
from controlplane.launcher.state_lock import StateInUse, StateLock
from controlplane.launcher.web_probe import WebPortInUse, reasons_in, require_free_port, why_not_ready
from controlplane.launcher.welcome import Welcome
from tests.fixtures.servers import free_port


@pytest.mark.parametrize(
    ("field", "value"), [("port", 0), ("port", 70000), ("hypervisors", -1), ("hypervisors", 101), ("workers", 0)]
)
def test_number_out_of_range_is_refused_by_its_option(tmp_path: Path, field: str, value: int) -> None:
    with pytest.raises(Invalid) as refusal:
        UpOptions(state_dir=tmp_path, **{field: value})
    assert refusal.value.field == field


def test_second_up_on_one_state_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with (
        StateLock(tmp_path),
        pytest.raises(StateInUse, match=r"already runs on .* \(process \d+\)"),
        StateLock(tmp_path),
    ):
        pass


def test_state_is_free_again_after_the_lock(tmp_path: Path) -> None:
    with StateLock(tmp_path):
        pass
    with StateLock(tmp_path):
        assert (tmp_path / "up.lock").read_text().strip().isdigit()


def test_down_waits_for_one_that_has_not_written_its_number_yet(tmp_path: Path) -> None:
    lock = tmp_path / "up.lock"
    with lock.open("w") as up, ThreadPoolExecutor(1) as beside:
        fcntl.flock(up, fcntl.LOCK_EX)
        out = io.StringIO()
        done = beside.submit(down_run, tmp_path, Announcer(Console(file=out)), grace_s=0, keep_guests=True)
        with subprocess.Popen(["sleep", "infinity"]) as holder:
            done.add_done_callback(lambda _done: holder.kill())  # it must not end before
            lock.write_text(f"{holder.pid}\n")
            assert holder.wait() == -signal.SIGTERM
        up.close()
        done.result()
    assert "is asked to stop" in out.getvalue()


def test_down_waits_for_up_as_long_as_its_processes_may_take_to_end(settings: Any) -> None:
    """Else it gives up while `up` still does what the setting lets it do."""
    before = up_limit_s()
    more = settings.KILONOVA["STOP_LIMIT_S"] + 100.0
    settings.KILONOVA = {**settings.KILONOVA, "STOP_LIMIT_S": more}
    assert up_limit_s() == before + 100.0 > more


def test_down_tells_who_does_not_end(tmp_path: Path) -> None:
    with (tmp_path / "up.lock").open("w") as up:
        fcntl.flock(up, fcntl.LOCK_EX)
        with pytest.raises(StateInUse, match="already runs on"):
            down_run(tmp_path, Announcer(Console(file=io.StringIO())), grace_s=0, keep_guests=True, up_ends_in_s=0)


def test_used_port_is_refused_with_the_option_to_change() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(WebPortInUse, match="--port"):
            require_free_port(other.getsockname()[1])


def test_free_port_is_accepted() -> None:
    require_free_port(free_port())


def test_silent_web_server_is_a_reason_not_to_be_ready() -> None:
    assert why_not_ready(free_port()) == ["the web server does not answer yet"]


@pytest.mark.parametrize("kind", list(HypervisorKind))
def test_hypervisors_have_names_and_directories_of_their_own(tmp_path: Path, kind: HypervisorKind) -> None:
    made = hypervisors_prepare(kind, count=3, state_dir=tmp_path)
    assert [each.host for each in made] == ["hv-1", "hv-2", "hv-3"]
    assert len({each.uri for each in made}) == 3
    assert len({each.state_dir for each in made}) == 3
    assert all(tmp_path in each.state_dir.parents for each in made)


def begun_embedded(state: Path, number: int) -> None:
    """As libvirt inside the agent leaves a hypervisor that has a guest."""
    domains = state / "hv" / str(number) / "etc" / "qemu"
    domains.mkdir(parents=True)
    (domains / "i-1.xml").write_text("<domain/>")


def test_networks_are_carried_by_hypervisors_that_were_not_begun_as_embedded(tmp_path: Path) -> None:
    if lack := private_daemon_impossible():
        pytest.skip(f"missing: {lack}")
    begun_embedded(tmp_path, 2)
    assert network_carriers(tmp_path, count=3) == ["hv-1", "hv-3"]
    made = hypervisors_prepare(HypervisorKind.QEMU, count=3, state_dir=tmp_path, has_networks=True)
    assert [each.host for each in made if each.network_directory] == ["hv-1", "hv-3"]


def test_no_networks_are_made_that_no_hypervisor_would_carry(tmp_path: Path) -> None:
    if lack := places_lack() or private_daemon_impossible():
        pytest.skip(f"missing: {lack}")
    begun_embedded(tmp_path, 1)
    out = io.StringIO()
    assert networks_prepare(tmp_path, Announcer(Console(file=out, width=500)), count=1) == ""
    assert "no networks between guests: what was begun without a libvirtd of its own" in out.getvalue()
    assert not networks_of(tmp_path).exists()


def test_machine_is_divided_not_promised_twice(tmp_path: Path) -> None:
    whole, third = machine_share(1, disk_of=tmp_path), machine_share(3, disk_of=tmp_path)
    assert third.memory_mib * 3 <= whole.memory_mib + 3 * 512
    assert third.vcpus == whole.vcpus


def test_each_hypervisor_has_a_pool_of_its_own_and_all_share_one(tmp_path: Path) -> None:
    again = [hypervisors_prepare(HypervisorKind.FAKE, count=2, state_dir=tmp_path) for _ in range(2)][-1]
    hosts = [host_pools(each.pools, state_dir=each.state_dir).backends for each in again]
    reports = [{name: backend.report() for name, backend in pools.items()} for pools in hosts]
    assert [set(each) for each in reports] == [{"local", "shared"}] * 2
    assert {report.problem for each in reports for report in each.values()} == {""}
    assert reports[0]["local"].identity != reports[1]["local"].identity
    assert reports[0]["shared"].identity == reports[1]["shared"].identity
    promised = sum(each["local"].total_bytes for each in reports) + reports[0]["shared"].total_bytes
    assert promised <= shutil.disk_usage(tmp_path).free or promised == 3 * 2**30  # at least a GiB each
    command = agent_command(again[0], 8123)
    assert [command[at + 1] for at, word in enumerate(command) if word == "--volume-pool"] == list(again[0].pools)


def test_one_process_each_for_web_conductor_and_agents(tmp_path: Path) -> None:
    options = UpOptions(state_dir=tmp_path, port=8123, workers=4)
    hypervisors = hypervisors_prepare(HypervisorKind.FAKE, count=2, state_dir=tmp_path)
    specs = {spec.name: spec for spec in child_specs(options, hypervisors, {"KILONOVA_STATE": str(tmp_path)})}
    assert list(specs) == ["web", "conductor", "agent-hv-1", "agent-hv-2"]
    assert "127.0.0.1:8123" in specs["web"].command
    assert specs["conductor"].command[-2:] == ("--workers", "4")
    assert {spec.env["KILONOVA_STATE"] for spec in specs.values()} == {str(tmp_path)}


def test_new_password_is_told_once_and_put_into_no_command() -> None:
    """What is pasted stands in the shell's history, and in the list of processes while it runs."""
    welcome = Welcome(8000, AdminBootstrap(created=True, password="s3cret"), DEMO_IMAGE)
    text = "\n".join(welcome.lines())
    assert "admin, password s3cret" in text
    assert text.count("s3cret") == 1
    assert "getpass" in welcome.token_command()
    assert '"image": "kilonova-demo"' in text


def test_openstack_clients_find_the_installation_by_a_file_without_a_password() -> None:
    admin = AdminBootstrap(created=True, password="s3cret")
    welcome = Welcome(8000, admin, DEMO_IMAGE, state_dir=Path("/srv/my state"))
    text = "\n".join(welcome.lines())
    assert "OS_CLIENT_CONFIG_FILE='/srv/my state/clouds.yaml' openstack --os-cloud kilonova server list" in text
    auth = yaml.safe_load(welcome.clouds_yaml())["clouds"]["kilonova"]["auth"]
    assert auth["auth_url"] == "http://127.0.0.1:8000/identity/v3"
    assert (auth["username"], auth["project_name"], "password" in auth) == ("admin", "demo", False)


def test_command_for_a_token_reads_the_password_file(tmp_path: Path) -> None:
    """Run by a shell as it stands, with a stand-in for curl that shows what it was sent."""
    file = tmp_path / "pass word"
    file.write_text('s3"cret\n')
    curl = tmp_path / "curl"
    curl.write_text('#!/bin/sh\ncat >"$SENT"\necho \'{"token": "kn_1"}\'\n')
    curl.chmod(0o700)
    welcome = Welcome(8000, AdminBootstrap(created=True, password='s3"cret'), DEMO_IMAGE, password_file=file)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SENT": str(tmp_path / "sent")}
    shell = f"{welcome.token_command()}\necho $TOKEN"
    done = subprocess.run(["/bin/sh", "-c", shell], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "kn_1\n"
    assert json.loads((tmp_path / "sent").read_text()) == {"username": "admin", "password": 's3"cret'}


def test_without_hypervisors_neither_hosts_nor_images_are_waited_for() -> None:
    checks = [
        {"name": "database", "state": "ok", "reason": ""},
        {"name": "hosts", "state": "failed", "reason": "no compute host is enabled and up"},
        {"name": "images", "state": "failed", "reason": "there is no active image"},
        {"name": "conductor", "state": "failed", "reason": "no conductor answers"},
    ]
    body = json.dumps({"reasons": [one["reason"] for one in checks if one["reason"]], "checks": checks}).encode()
    assert reasons_in(body, but_not_for=frozenset({"hosts", "images"})) == ["no conductor answers"]
    assert len(reasons_in(body)) == 3


def test_welcome_without_hypervisors_says_how_one_comes() -> None:
    text = "\n".join(Welcome(8000, AdminBootstrap(created=True, password="s3cret"), None, hypervisors=0).lines())
    assert "docs/hypervisor.md" in text
    assert "Create a VM" not in text


def test_old_password_is_not_told() -> None:
    text = "\n".join(Welcome(8000, AdminBootstrap(created=False, password=None), DEMO_IMAGE).lines())
    assert "as told by the first start" in text


def test_step_outside_a_terminal_is_one_plain_line() -> None:
    out = io.StringIO()
    with Announcer(Console(file=out, highlight=False)).step("Database") as doing:
        doing("applying")
    line = out.getvalue()
    assert line.startswith("✓ Database (")
    assert line.count("\n") == 1
    assert "\x1b" not in line


def test_failed_step_says_so() -> None:
    out = io.StringIO()
    with pytest.raises(RuntimeError), Announcer(Console(file=out)).step("Database"):
        raise RuntimeError
    assert out.getvalue() == "✗ Database\n"


def test_password_from_a_file_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("s3cret\n")
    welcome = Welcome(8000, AdminBootstrap(created=True, password="s3cret"), DEMO_IMAGE, password_file=file)
    assert "s3cret" not in "\n".join(welcome.lines())
    assert f"password in {file}" in "\n".join(welcome.lines())
