"""Capacity as plain values for API and pages. For operators: it names hosts."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from scheduling.whatif.domain.capacity import FlavorCapacity, ZoneCapacity
from scheduling.whatif.services.capacity import CapacityReport, CapacityRow


def capacity_report(report: CapacityReport, *, zone: str | None = None) -> dict[str, Any]:
    """Each flavor with its room in all and by zone; `zone` leaves that one only."""
    return {
        "policy_version": report.policy_version,
        "host_count": report.host_count,
        "duration_us": report.duration_us,
        "flavors": [_row(row, zone) for row in report.rows],
    }


def _row(row: CapacityRow, zone: str | None) -> dict[str, Any]:
    flavor = row.flavor
    sizes = {name: getattr(flavor, name) for name in ("id", "name", "vcpus", "memory_mib", "root_gib")}
    if row.room is None:
        return {"flavor": sizes, "problem": row.problem, "total": None, "zones": []}
    return {"flavor": sizes, "problem": "", "total": room_to_dict(row.room.total), "zones": _zones(row.room, zone)}


def _zones(room: FlavorCapacity, zone: str | None) -> list[dict[str, Any]]:
    shown: Mapping[str, ZoneCapacity] = {name: one for name, one in room.zones.items() if zone in (None, name)}
    return [{"zone": name, **room_to_dict(one)} for name, one in shown.items()]


def room_to_dict(room: ZoneCapacity) -> dict[str, Any]:
    """One cell of the matrix."""
    plain = asdict(room)
    plain["limits"] = [{"limit": name, "hosts": hosts} for name, hosts in room.limits.items()]
    return plain
