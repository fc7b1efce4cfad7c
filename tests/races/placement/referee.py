"""The referee: makes the providers of a race, and afterwards tells what the database holds.

`referee.py setup PROVIDERS SLOTS` migrates and prints the providers' uuids as JSON.
`referee.py verdict` prints {"findings": [...], "over": [...], "used": {uuid: {class: used}}, "consumers": n, ...}.
"""

import json
import sys
from uuid import uuid4

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from placement.domain import InventorySpec  # noqa: E402
from placement.selectors import allocations_by_consumer, consumer_list, fleet_usage  # noqa: E402
from placement.services import audit_inventory_usage, inventory_set, provider_ensure  # noqa: E402


def setup(providers: int, slots: int) -> list[str]:
    """Providers with room for `slots` claims each; memory is overcommitted to the same number."""
    call_command("migrate", verbosity=0)
    uuids = [uuid4() for _ in range(providers)]
    for index, uuid in enumerate(uuids):
        provider_ensure(uuid, f"racetrack-{index}-{uuid}")
        memory = InventorySpec(total=slots * 512 // 2, allocation_ratio=2.0)
        inventory_set(uuid, {"VCPU": InventorySpec(total=slots), "MEMORY_MB": memory})
    return [str(uuid) for uuid in uuids]


def deadlocks() -> int:
    """Deadlocks that this database had to break; a retry would hide them. SQLite cannot have any."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        (count,) = cursor.fetchone()
    return int(count)


def verdict() -> dict[str, object]:
    """What is true now."""
    usage = fleet_usage()
    held = allocations_by_consumer()
    return {
        "findings": [finding.sentence() for finding in audit_inventory_usage()],
        "over": [
            f"{uuid} {name}: {one.used} of {one.capacity}"
            for uuid, classes in usage.items()
            for name, one in classes.items()
            if one.used > one.capacity
        ],
        "used": {str(uuid): {name: one.used for name, one in classes.items()} for uuid, classes in usage.items()},
        "deadlocks": deadlocks(),
        "consumers": len(consumer_list()),
        "holders": len(held),
        "allocated": sum(row.used for rows in held.values() for row in rows if row.resource_class == "VCPU"),
    }


if __name__ == "__main__":
    answer = setup(int(sys.argv[2]), int(sys.argv[3])) if sys.argv[1] == "setup" else verdict()
    sys.stdout.write(json.dumps(answer))
