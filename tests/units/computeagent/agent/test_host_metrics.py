"""Metrics of a host, from files of /proc as a kernel writes them."""

from pathlib import Path

from computeagent.agent.host_metrics import (
    HostMetrics,
    Reading,
    cpu_shares,
    cpu_times,
    frequency,
    load,
    memory,
    network_cards,
    network_counters,
    network_rates,
    uptime,
)

STAT = "cpu  100 20 30 400 50 6 4 9 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n"
MEMINFO = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 2097152 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n"
NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 999 9 9 9 0 0 0 0 999 9 9 9 0 0 0 0
  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0
enp3s0: 500 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0
 vnet0: 777 7 7 7 0 0 0 0 777 7 7 7 0 0 0 0
"""


def machine(root: Path, *, stat: str = STAT, net_dev: str = NET_DEV) -> Path:
    (root / "net").mkdir(exist_ok=True)
    (root / "stat").write_text(stat)
    (root / "net/dev").write_text(net_dev)
    (root / "meminfo").write_text(MEMINFO)
    (root / "loadavg").write_text("0.50 1.25 2.00 1/300 4711\n")
    (root / "cpuinfo").write_text("processor : 0\ncpu MHz\t\t: 2000.5\nprocessor : 1\ncpu MHz\t\t: 3000.5\n")
    return root


def test_cpu_times_are_those_that_libvirt_gives_nova() -> None:
    ns = 1_000_000_000 // 100
    assert cpu_times(STAT, 100) == {"user": 120 * ns, "kernel": 40 * ns, "idle": 400 * ns, "iowait": 50 * ns}
    assert cpu_times("cpu0 1 2 3 4 5 6 7\n", 100) == {}


def test_shares_are_of_the_time_between() -> None:
    before = Reading(0.0, {"user": 0, "kernel": 0, "idle": 0, "iowait": 0})
    now = Reading(1.0, {"user": 30, "kernel": 10, "idle": 50, "iowait": 10})
    assert cpu_shares(before, now) == {
        "cpu.user.percent": 30.0,
        "cpu.kernel.percent": 10.0,
        "cpu.idle.percent": 50.0,
        "cpu.iowait.percent": 10.0,
        "cpu.percent": 50.0,
    }


def test_share_of_no_time_is_not_made_up() -> None:
    now = {"user": 5, "kernel": 5, "idle": 5, "iowait": 5}
    assert cpu_shares(Reading(0.0, {}), Reading(1.0, now)) == {}
    assert cpu_shares(Reading(0.0, now), Reading(1.0, now)) == {}


def test_time_that_was_counted_backwards_counts_as_none() -> None:
    before, now = {"user": 0, "idle": 0, "iowait": 7}, {"user": 30, "idle": 70, "iowait": 5}
    assert cpu_shares(Reading(0.0, before), Reading(1.0, now))["cpu.percent"] == 30.0


def test_shares_of_a_moment_are_those_of_before(tmp_path: Path) -> None:
    times = iter((0.0, 60.0, 60.5))
    meter = HostMetrics(tmp_path, proc=machine(tmp_path), cards=tmp_path / "none", clock=lambda: next(times))
    machine(tmp_path, stat=STAT.replace("100 20 30 400", "130 20 30 470"))
    assert meter.measured()["cpu.percent"] == 30.0
    machine(tmp_path, stat=STAT.replace("100 20 30 400", "999 20 30 470"))
    assert meter.measured()["cpu.percent"] == 30.0


def test_memory_is_what_can_be_had_without_swapping() -> None:
    assert memory(MEMINFO) == {
        "memory.total.mib": 8192.0,
        "memory.available.mib": 2048.0,
        "memory.percent": 75.0,
        "memory.swap.used.mib": 1.0,
    }
    assert memory("MemTotal: 1 kB\n") == {}


def test_load_and_frequency() -> None:
    assert load("0.50 1.25 2.00 1/3 4\n") == {"cpu.load.1m": 0.5, "cpu.load.5m": 1.25, "cpu.load.15m": 2.0}
    assert load("") == frequency("processor: 0\n") == uptime("") == {}
    assert uptime("90061.25 1.5\n") == {"uptime": 90061.25}
    assert frequency("cpu MHz : 2000\ncpu MHz : 3000\n") == {"cpu.frequency": 2500.0}


def test_only_the_machines_own_interfaces_are_counted() -> None:
    assert network_counters(NET_DEV) == {
        "rx.bytes": 1500,
        "rx.errors": 1,
        "rx.drops": 2,
        "tx.bytes": 2600,
        "tx.errors": 3,
        "tx.drops": 4,
    }


def test_what_lies_on_another_interface_is_counted_once() -> None:
    """A bond, a VLAN and a bridge carry what their cards do."""
    with_bond = NET_DEV + "".join(
        f"{name}: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n" for name in ("bond0", "bond0.7", "br0", "team0")
    )
    cards = frozenset({"eth0", "enp3s0"})
    assert network_counters(with_bond, cards) == network_counters(NET_DEV)


def test_cards_are_the_interfaces_that_have_a_device(tmp_path: Path) -> None:
    for name, has_device in (("eth0", True), ("bond0", False), ("lo", False)):
        (tmp_path / name / ("device" if has_device else "statistics")).mkdir(parents=True)
    (tmp_path / "bonding_masters").write_text("bond0\n")
    assert network_cards(tmp_path) == {"eth0"}
    assert network_cards(tmp_path / "gone") == frozenset()


def test_rates_are_bytes_a_second_and_none_after_a_restart() -> None:
    before = Reading(10.0, network={"rx.bytes": 100, "tx.bytes": 50})
    now = Reading(20.0, network={"rx.bytes": 300, "tx.bytes": 10})
    assert network_rates(before, now) == {"network.rx.bytes.rate": 20.0}


def test_measures_what_a_machine_says(tmp_path: Path) -> None:
    times = iter((0.0, 60.0))
    meter = HostMetrics(tmp_path, proc=machine(tmp_path), cards=tmp_path / "none", clock=lambda: next(times))
    machine(tmp_path, stat=STAT.replace("100 20 30 400", "130 20 30 470"), net_dev=NET_DEV.replace(" 1000 ", " 7000 "))
    found = meter.measured()
    assert (found["cpu.percent"], found["cpu.idle.percent"], found["cpu.load.5m"]) == (30.0, 70.0, 1.25)
    assert (found["network.rx.bytes.rate"], found["network.tx.bytes.rate"]) == (100.0, 0.0)
    assert found["cpu.frequency"] == 2500.5
    assert 0 < found["disk.free.gib"] < found["disk.total.gib"]
    assert {"cpu.user.time", "cpu.kernel.time", "cpu.idle.time", "cpu.iowait.time", "memory.percent"} <= set(found)


def test_machine_that_says_nothing_has_no_metrics(tmp_path: Path) -> None:
    assert HostMetrics(tmp_path / "gone", proc=tmp_path, cards=tmp_path).measured() == {}


def test_this_machine_can_be_measured(tmp_path: Path) -> None:
    found = HostMetrics(tmp_path).measured()
    assert found["memory.total.mib"] > found["memory.available.mib"] > 0
    assert found["cpu.idle.time"] > 0
