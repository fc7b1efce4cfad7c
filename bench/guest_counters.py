"""A day of guests' counters: what one message costs, and what a guest takes on the disk.

    python -m bench.guest_counters [--hosts 10] [--guests 100] [--minutes 1440]

A private PostgreSQL (fsync on). Each host sends the counters of its guests once a minute of a day that is played as
fast as it goes; old samples are pruned every five minutes, as the periodic task does, and the table is vacuumed. It
prints the time and CPU of a message (service and statement, without HTTP), what the server wrote ahead for each, and
the size of the table with its indexes for each guest at the end.
"""

import argparse
import os
import random
import statistics
import time
import uuid

from bench.select_destinations import DurablePostgres, set_up

START_S = 1_760_000_000


def instances_make(hosts: int, guests: int) -> dict[str, list[uuid.UUID]]:
    """Rows of instances, as far as counters look at them."""
    from servers.models import Instance  # noqa: PLC0415 - needs Django

    placed = {f"h{number:05}": [uuid.uuid4() for _ in range(guests)] for number in range(hosts)}
    rows = [
        Instance(
            id=pk, project_id=uuid.uuid4(), user_id=uuid.uuid4(), name="vm", host=host, flavor={},
            flavor_id=uuid.uuid4(), vcpus=2, memory_mib=2048, vm_state="active",
        )
        for host, uuids in placed.items()
        for pk in uuids
    ]  # fmt: skip
    Instance.objects.bulk_create(rows, batch_size=1000)
    return placed


def play(placed: dict[str, list[uuid.UUID]], minutes: int) -> None:
    """All messages of so many minutes, and the prices."""
    from django.db import connection  # noqa: PLC0415 - needs settings

    from computeagent.protocol.guests import GuestCounters  # noqa: PLC0415
    from servers.instances.services.guest_counters import guest_counters_prune, guest_counters_store  # noqa: PLC0415

    chance = random.Random(1)
    took, pruned_s, pruned = [], 0.0, 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()")
        (log_began,) = cursor.fetchone()
    cpu_began = time.process_time()
    for minute in range(minutes):
        at_s, used = START_S + minute * 60, (minute + 1) * 60
        for host, uuids in placed.items():
            counters = {
                pk: GuestCounters(
                    cpu_ns=int(used * 1e9 * chance.random()), memory_actual_kib=2097152, memory_rss_kib=1500000,
                    memory_unused_kib=600000, disk_read_bytes=used * 40960, disk_read_requests=used * 10,
                    disk_write_bytes=used * 81920, disk_write_requests=used * 20, rx_bytes=used * 125000,
                    rx_packets=used * 100, tx_bytes=used * 250000, tx_packets=used * 150,
                )
                for pk in uuids
            }  # fmt: skip
            began = time.perf_counter()
            guest_counters_store(host=host, counters=counters, at_s=at_s)
            took.append((time.perf_counter() - began) * 1000)
        if minute % 10 == 9:
            # In a day that takes as long as a day, autovacuum comes far more often.
            with connection.cursor() as cursor:
                cursor.execute("VACUUM servers_guestcounterchunk")
        if minute % 5 == 4:
            began = time.perf_counter()
            pruned += guest_counters_prune(now_s=at_s)
            pruned_s += time.perf_counter() - began
    cpu = (time.process_time() - cpu_began) * 1000 / len(took)
    guests = sum(map(len, placed.values()))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), %s)", [log_began])
        (logged,) = cursor.fetchone()
        cursor.execute(
            "SELECT pg_table_size(t), pg_indexes_size(t), (SELECT count(*) FROM servers_guestcounterchunk),"
            " (SELECT sum(length(samples)) FROM servers_guestcounterchunk)"
            " FROM (SELECT 'servers_guestcounterchunk'::regclass AS t) AS named"
        )
        table, indexes, rows, samples = cursor.fetchone()
    ranked = sorted(took)
    print(f"  a message: median {statistics.median(ranked):.1f} ms, p95 {ranked[int(len(ranked) * 0.95)]:.1f} ms,")
    print(f"    {cpu:.1f} ms of CPU here (making the load included), {logged / len(took) / 1024:.0f} KiB written ahead")
    print(f"  pruned {pruned} rows in {pruned_s:.1f} s")
    print(
        f"  a guest: {rows / guests:.1f} rows, {samples / guests / 1024:.1f} KiB of samples, "
        f"{table / guests / 1024:.1f} KiB of table and {indexes / guests / 1024:.1f} KiB of indexes"
    )


def main() -> None:
    """Start the server, play, remove all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--guests", type=int, default=100)
    parser.add_argument("--minutes", type=int, default=1440)
    options = parser.parse_args()
    with DurablePostgres() as server:
        url = server.create_database()
        os.environ.update({"DJANGO_SETTINGS_MODULE": "controlplane.settings.dev", "DATABASE_URL": url})
        set_up()
        from django.core.management import call_command  # noqa: PLC0415 - needs settings
        from django.db import connection  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        load = os.getloadavg()[0]
        print(f"{options.hosts} hosts of {options.guests} guests, {options.minutes} minutes, load {load:.1f}")
        play(instances_make(options.hosts, options.guests), options.minutes)
        connection.close()


if __name__ == "__main__":
    main()
