"""The options of an agent, the same for `python -m computeagent` and `manage.py compute_agent`."""

import os
import socket
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from computeagent.daemon.host_settings import host_arguments_add
from computeagent.protocol.names import require_host_name
from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.errors import Invalid


def agent_arguments_add(parser: ArgumentParser) -> None:
    """Options; every one has a default but the control plane, unless the environment names it (KILONOVA_URL)."""
    parser.add_argument(
        "--host", type=_host, default=socket.gethostname(), help="Name of this host (default: hostname)."
    )
    parser.add_argument("--libvirt-uri", default="qemu:///system", help="Hypervisor (default: qemu:///system).")
    parser.add_argument("--state", type=Path, help="Directory of this agent.")
    parser.add_argument("--vcpus", type=_positive, help="vCPUs to report instead of the hypervisor's.")
    parser.add_argument("--memory-mib", type=_positive, help="Memory to report instead of the hypervisor's.")
    parser.add_argument("--disk-gib", type=_positive, help="Disk to report instead of the hypervisor's.")
    parser.add_argument(
        "--image-cache", type=Path, help="Directory of base images, may be shared by agents of one machine."
    )
    parser.add_argument("--nat-network", action="store_true", help="Make and start libvirt's default network.")
    parser.add_argument("--host-ip", default="127.0.0.1", help="Address of this host (default: 127.0.0.1).")
    parser.add_argument("--max-concurrent-builds", type=_positive, default=2, help="Builds at a time (default: 2).")
    parser.add_argument("--keep-orphans", action="store_true", help="Never remove guests that no instance explains.")
    parser.add_argument(
        "--trust-listing", action="store_true", help="Believe the hypervisor's list of guests: end safe mode."
    )
    host_arguments_add(parser)
    door = parser.add_argument_group("control plane")
    url, token = os.environ.get("KILONOVA_URL", ""), os.environ.get("KILONOVA_ENROL_TOKEN", "")
    door.add_argument("--control-plane", default=url, metavar="URL", help="Its address: https://cloud.example.org.")
    door.add_argument("--enrol-token", default=token, metavar="TOKEN", help="One-time token, for a first start.")
    door.add_argument("--ca-file", default="", metavar="PEM", help="Certificates to trust instead of the system's.")
    door.add_argument("--cert-file", default="", metavar="PEM", help="The agent's own certificate, for mutual TLS.")
    door.add_argument("--key-file", default="", metavar="PEM", help="The key of that certificate.")


NO_CONTROL_PLANE = "--control-plane must say where the control plane is, such as https://cloud.example.org"


class ConfigFileParser(ArgumentParser):
    """A parser that reads more options from `@FILE`: lines such as `host = cmp-7` or `nat-network = yes`, and comments
    that begin with #.
    """

    def __init__(self, *, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, fromfile_prefix_chars="@", allow_abbrev=False)

    def convert_arg_line_to_args(self, arg_line: str) -> list[str]:
        """One line of a configuration file."""
        line = arg_line.strip()
        if not line or line.startswith("#"):
            return []
        name, found, value = (part.strip() for part in line.partition("="))
        option = f"--{name.replace('_', '-')}"
        if not found:
            return [option]
        if is_boolean(value) and self._is_switch(option):
            return [option] if is_true(value) else []
        return [f"{option}={value}"]

    def _is_switch(self, option: str) -> bool:
        return any(option in action.option_strings and action.nargs == 0 for action in self._actions)


def _host(text: str) -> str:
    try:
        require_host_name(text)
    except Invalid as error:
        raise ArgumentTypeError(error.message) from error
    return text


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
