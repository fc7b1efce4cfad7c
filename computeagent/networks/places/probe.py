"""What a machine lacks for networks of its hypervisors' own, in sentences for its operator."""

import os
import shutil

from computeagent.networks.base import NetworkError
from computeagent.networks.places.commands import SYSTEM_DIRECTORIES, run

PROGRAMS = {
    "ip": "iproute2",
    "nft": "nftables",
    "dnsmasq": "dnsmasq-base",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "conntrack": "conntrack",
}
TUN = "/dev/net/tun"
NFT_TRIAL = "table ip kn_trial { chain c { type filter hook forward priority filter; ct state established accept; }; }"


def places_lack() -> list[str]:
    """Empty where everything is there. Nothing is left behind by asking."""
    path = f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_DIRECTORIES}"
    lack = [
        f"the program {program} (Debian package {package})"
        for program, package in PROGRAMS.items()
        if shutil.which(program, path=path) is None
    ]
    if lack:
        return lack
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        lack.append(f"the right to open {TUN} ({error.strerror}): it is usually everybody's (mode 0666)")
    fresh = ("unshare", "-n") if os.geteuid() == 0 else ("unshare", "-U", "-r", "-n", "-m", "--propagation", "slave")
    try:
        run(("true",), prefix=fresh)
    except NetworkError as error:
        lack.append(f"the right to make network namespaces ({error})")
        return lack
    try:
        run(("nft", "-f", "-"), prefix=fresh, given=NFT_TRIAL)
    except NetworkError as error:
        lack.append(f"nftables with connection tracking in the kernel ({error})")
    return lack


def way_out_lack() -> str:
    """What an ordinary user's guests need to reach the outside, empty where it is there."""
    if os.geteuid() == 0 or shutil.which("pasta") is not None:
        return ""
    return "the program pasta (Debian package passt), without which guests reach nothing outside of this machine"
