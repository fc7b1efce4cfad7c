"""The datapath that Open vSwitch has here, asked by `ovs-appctl`: what it can do, and its tables of connections."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.ovn.switch import ANSWER_S, BRIDGE

IN_USER_SPACE, IN_KERNEL = "netdev@ovs-netdev", "system@ovs-system"
CONNECTION_TRACKING = ("CT state", "CT zone", "CT mark", "CT label", "CT state NAT", "Recirc")
"""What OVN keeps security groups, routers and floating addresses with, as `dpif/show-dp-features` calls it: states of
connections, a zone for each port, marks and labels on connections, translation, and a second look at a packet once
its connection is known. Source: `ovn-architecture(7)` and the flows that ovn-controller writes.
"""
NO_BRIDGE = "no such bridge"
"""What ovs-vswitchd says of a bridge that it could not make, though its database has it: one without a datapath."""
IN_KERNEL_REMEDY = (
    "its kernel needs the modules openvswitch, nf_conntrack and nf_nat (as root: modprobe -a openvswitch nf_conntrack "
    "nf_nat, and a line of each in /etc/modules-load.d/kilonova.conf; then restart openvswitch-switch)"
)
IN_USER_SPACE_REMEDY = "it needs a newer Open vSwitch (package openvswitch-switch)"
_FEATURE = re.compile(r"^\s*([^:]+?)\s*:\s*(\S+)\s*$", re.MULTILINE)


class Datapath:
    """`database`: see `Switch`; the control socket of the switch is beside it."""

    def __init__(self, commands: Commands, database: str = "") -> None:
        self._commands = commands
        socket = database.removeprefix("unix:")
        where = ("env", f"OVS_RUNDIR={PurePosixPath(socket).parent}") if socket != database else ()
        self._program = (*where, "ovs-appctl", f"--timeout={ANSWER_S}", "--target=ovs-vswitchd")

    def ask(self, words: Sequence[str]) -> str:
        """What Open vSwitch answers. Raises NetworkError."""
        return self._commands.run((*self._program, *words))

    def probe(self, *, is_in_user_space: bool) -> None:
        """Raises NetworkError that says what this host lacks to keep security groups."""
        remedy = IN_USER_SPACE_REMEDY if is_in_user_space else IN_KERNEL_REMEDY
        try:
            said = self.ask(("dpif/show-dp-features", BRIDGE))
        except NetworkError as error:
            if NO_BRIDGE not in str(error):
                raise NetworkError(f"ovs-vswitchd does not say what its datapath can do: {error}") from error
            raise NetworkError(
                f"this host cannot keep security groups: ovs-vswitchd has no datapath for {BRIDGE}: {remedy}"
            ) from error
        if lacks := features_lacking(said):
            raise NetworkError(
                f"this host cannot keep security groups: the datapath of {BRIDGE} does not track connections (it "
                f"lacks {', '.join(lacks)}): {remedy}"
            )


def features_lacking(said: str) -> list[str]:
    """Those of CONNECTION_TRACKING that the answer does not say Yes to."""
    features = dict(_FEATURE.findall(said))
    return [name for name in CONNECTION_TRACKING if features.get(name) != "Yes"]
