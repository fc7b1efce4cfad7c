"""Programs that make and show networks, run behind a prefix."""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from computeagent.networks.base import NetworkError

SYSTEM_DIRECTORIES = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where `ip` and `nft` are; ordinary users do not have them in their PATH."""
LIMIT_S = 30.0


def run(command: Sequence[str], *, prefix: Sequence[str] = (), given: str = "") -> str:
    """What the command wrote, with `given` as its input. Raises NetworkError with what it said was wrong."""
    try:
        done = subprocess.run(
            [*prefix, *command],
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LIMIT_S,
            env=environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NetworkError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()
        raise NetworkError(f"{' '.join(command)[:200]}: {'; '.join(said)[:500]}")
    return done.stdout


def links(prefix: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The interfaces behind the prefix, by name, as `ip -json link` has them."""
    found = json.loads(run(("ip", "-json", "link", "show"), prefix=prefix) or "[]")
    return {str(each["ifname"]): each for each in found}


def environment() -> dict[str, str]:
    """This process's, with where system programs are, and English."""
    return {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_DIRECTORIES}", "LC_ALL": "C"}
