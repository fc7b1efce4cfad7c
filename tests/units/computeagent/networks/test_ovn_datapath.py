"""What Open vSwitch says that its datapath can do, and what a host lacks that cannot keep security groups."""

from pathlib import Path

import pytest

from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.ovn.datapath import CONNECTION_TRACKING, Datapath, features_lacking

SAID = """\
Masked set action: Yes
Tunnel push pop: Yes
Ufid: Yes
Truncate action: Yes
Clone action: Yes
Sample nesting: 10
Conntrack eventmask: Yes
Conntrack clear: Yes
Max dp_hash algorithm: 1
Check pkt length action: Yes
Conntrack timeout policy: Yes
Explicit Drop action: Yes
Optimized Balance TCP mode: Yes
Conntrack all-zero IP SNAT: Yes
MPLS Label add: Yes
Max VLAN headers: 1
Max MPLS depth: 3
Recirc: Yes
CT state: Yes
CT zone: Yes
CT mark: Yes
CT label: Yes
CT state NAT: Yes
CT orig tuple: Yes
CT orig tuple for IPv6: Yes
IPv6 ND Extension: Yes
"""
"""Of Open vSwitch 3.1.0, in user space."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Stands before every command. It writes down what it is asked, and answers what is in `said`, or fails with what
    is in `refused`.
    """
    found = tmp_path / "program"
    found.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n'
        f"if [ -e {tmp_path}/refused ]; then cat {tmp_path}/refused >&2; exit 2; fi\ncat {tmp_path}/said\n"
    )
    found.chmod(0o755)
    return found


def probed(program: Path, *, said: str = "", refused: str = "", is_in_user_space: bool = False) -> str:
    """What the host lacks; empty where it lacks nothing."""
    (program.parent / "said").write_text(said)
    if refused:
        (program.parent / "refused").write_text(refused)
    try:
        Datapath(Commands((str(program),)), "unix:/run/ovs/db.sock").probe(is_in_user_space=is_in_user_space)
    except NetworkError as error:
        return str(error)
    return ""


def test_datapath_that_tracks_connections_will_do(program: Path) -> None:
    assert probed(program, said=SAID) == ""
    asked = (program.parent / "asked").read_text().split()
    assert asked[:2] == ["env", "OVS_RUNDIR=/run/ovs"] and asked[-2:] == ["dpif/show-dp-features", "br-int"]


def test_kernel_without_connection_tracking_is_named_with_its_modules(program: Path) -> None:
    said = SAID.replace("CT state: Yes", "CT state: No").replace("CT state NAT: Yes", "CT state NAT: No")
    lack = probed(program, said=said)
    assert "cannot keep security groups" in lack and "(it lacks CT state, CT state NAT)" in lack
    assert "modprobe -a openvswitch nf_conntrack nf_nat" in lack
    assert "newer Open vSwitch" in probed(program, said=said, is_in_user_space=True)


def test_bridge_without_a_datapath_is_a_kernel_without_the_module(program: Path) -> None:
    lack = probed(program, refused="no such bridge\novs-appctl: ovs-vswitchd: server returned an error\n")
    assert "has no datapath for br-int: its kernel needs the modules openvswitch" in lack


def test_switch_that_does_not_answer_is_no_kernel_that_lacks_something(program: Path) -> None:
    lack = probed(program, refused="ovs-appctl: cannot connect to /run/ovs/x.ctl (Connection refused)\n")
    assert "ovs-vswitchd does not say" in lack and "Connection refused" in lack and "modprobe" not in lack


@pytest.mark.parametrize("said", ["", "CT state: Yes", SAID.replace("Recirc: Yes\n", ""), SAID.replace("Yes", "yes")])
def test_what_is_not_said_is_lacking(said: str) -> None:
    assert features_lacking(said)


@pytest.mark.parametrize("name", CONNECTION_TRACKING)
def test_each_is_needed(name: str) -> None:
    assert features_lacking(SAID.replace(f"{name}: Yes", f"{name}: No")) == [name]
