"""How much memory the engine's view of a fleet takes, measured in fresh processes."""

import subprocess
import sys
from pathlib import Path

from bench.scheduler.cases import World
from bench.scheduler.fleet import POLICIES, request
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import schedule, trace_to_dict

STATUS = Path("/proc/self/status")


def memory_mib(count: int, config: str) -> tuple[float, float]:
    """Peak resident MiB of a process before it knew any host, and in the end: table, columns, ten placements."""
    command = [sys.executable, "-m", "bench.scheduler", "--memory-of", str(count), config]
    before, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(before), float(peak)


def memory_report(count: int, config: str) -> None:
    """What the fresh process does and prints."""
    before = _peak_mib()
    world = World(count, config)
    for batch in (1, 10):
        asked = request("plain", batch)
        trace = schedule(ScheduleCall(world.table, asked, POLICIES[config], 1, candidates=world.candidates("plain")))
        trace_to_dict(trace)
    print(before, _peak_mib())


def _peak_mib() -> float:
    # Not getrusage: its peak is inherited from the process that started this one.
    line = next(each for each in STATUS.read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
