"""What must be true once a stage is quiet. Pure: facts in, sentences about what is wrong out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.drill.guests import HostGuests

Rows = Mapping[str, Any]
"""What `auditor.state` answers."""


RUNS = {
    "active": True,
    "paused": True,
    "rescued": True,
    "stopped": False,
    "suspended": False,
    "shelved": False,
    "soft-delete": False,
}
"""Whether the guest of an instance in this state has a running domain."""


def under_way(rows: Rows) -> list[str]:
    """What has not come to its end yet, in words."""
    return [
        *(f"work {one['kind']} of {one['subject']} is {one['state']} (attempt {one['attempt']}, "
          f"step {one['step'] or '-'}, queue {one['queue']}, held by {one['lease_owner'] or 'nobody'}, "
          f"{one['outcome'] or 'no outcome'})" for one in rows["work"]),
        *(f"instance {one['name']} {one['id']} on {one['host'] or 'no host'} is "
          f"{one['vm_state']}/{one['task_state'] or '-'}"
          for one in rows["instances"] if one["vm_state"] == "building" or one["task_state"]),
        *(f"bulk job {one['id']} ({one['action']} {one['kind']}) has not ended" for one in rows.get("bulk_jobs", ())),
        *(f"request for {one} waits to be scheduled" for one in rows["requests"]),
        *(f"networks of {one['host']} are those of revision {one['applied_revision']}, "
          f"not yet {one['wanted_revision']}" for one in rows["networks"]),
        *(f"OVN is not told yet of {one['subject']} {one['subject_id']} ({one['problem'] or 'not tried'}, "
          f"{one['attempts']} times)" for one in rows.get("ovn_changes", ())),
    ]  # fmt: skip


def guest_faults(rows: Rows, hosts: Sequence[HostGuests]) -> list[str]:
    """Where guests of the hypervisors and instances of the database are not the same."""
    instances = {str(one["id"]): one for one in rows["instances"]}
    everywhere = Counter(uuid for each in hosts for uuid, active in each.domains if active)
    return [
        *(f"{uuid} runs {times} times" for uuid, times in everywhere.items() if times > 1),
        *(line for each in hosts for line in _faults_of_host(each, instances)),
        *(line for each in hosts for line in _faults_of_taps(each, rows)),
        *(line for each in hosts for line in _faults_of_devices(each, rows)),
        *(
            f"{one['name']} {uid} is on {one['host']}, which no agent of this stage serves"
            for uid, one in instances.items()
            if one["host"] and one["host"] not in {each.host for each in hosts}
        ),
    ]


def _faults_of_host(found: HostGuests, instances: Mapping[str, Any]) -> Iterator[str]:
    if not found.is_known:
        yield f"{found.host}: its agent does not tell what its hypervisor has"
        return
    here = {uid: one for uid, one in instances.items() if one["host"] == found.host}
    domains = dict(found.domains)
    for uid in domains.keys() - here.keys():
        where = instances[uid]["host"] or "no host" if uid in instances else "nowhere: no such instance"
        yield f"{found.host} has a domain {uid}; the database has it on {where}"
    for uid, one in here.items():
        yield from _fault_of_instance(found.host, one, domains.get(uid))
    yield from _faults_of_qemu(found, {uid for uid, active in domains.items() if active})
    for name in set(found.directories) - here.keys():
        yield f"{found.host} keeps files of {name}, which is not there"


def _faults_of_taps(found: HostGuests, rows: Rows) -> Iterator[str]:
    """What is plugged on the host, and the ports of the instances that run there."""
    ports = {str(one["id"]): str(one["instance_uuid"]) for one in rows["ports"] if one["host"] == found.host}
    running = {
        str(one["id"]) for one in rows["instances"]
        if one["host"] == found.host and RUNS.get(one["vm_state"]) and not one["task_state"]
    }  # fmt: skip
    for port in set(found.taps) - ports.keys():
        yield f"{found.host} keeps the tap of port {port}, which is not there"
    for port, uid in ports.items():
        if uid in running and port not in found.taps:
            yield f"{uid} runs on {found.host} and its port {port} has no tap"


def _faults_of_devices(found: HostGuests, rows: Rows) -> Iterator[str]:
    """What the host's guests have of its devices, and what is claimed for them."""
    claimed: dict[str, set[str]] = {}
    for one in rows.get("devices", ()):
        if one["host"] == found.host:
            claimed.setdefault(str(one["owner_uuid"]), set()).add(one["address"])
    here = {str(one["id"]): one for one in rows["instances"] if one["host"] == found.host}
    for uid in claimed.keys() - here.keys():
        yield f"{found.host}: {sorted(claimed[uid])} are claimed for {uid}, which is not there"
    for uid, devices in found.devices.items():
        if uid in here and not here[uid]["task_state"] and set(devices) != claimed.get(uid, set()):
            yield f"{uid} has {devices} of {found.host}, where {sorted(claimed.get(uid, ()))} are claimed for it"


def _fault_of_instance(host: str, one: Mapping[str, Any], is_active: bool | None) -> Iterator[str]:
    what = {None: "has no domain", False: "does not run", True: "runs"}[is_active]
    wanted = RUNS.get(one["vm_state"])
    if wanted is not None and wanted != bool(is_active) and not one["task_state"]:
        yield f"{one['name']} {one['id']} is {one['vm_state']} and {what} on {host}"


def _faults_of_qemu(found: HostGuests, active: set[str]) -> Iterator[str]:
    for uid, times in Counter(found.qemu).items():
        if times > 1:
            yield f"{found.host} runs {times} QEMU processes for {uid}"
    if found.qemu and set(found.qemu) != active:
        orphans, missing = sorted(set(found.qemu) - active), sorted(active - set(found.qemu))
        yield f"{found.host}: QEMU runs that libvirt does not know: {orphans}; known and not running: {missing}"
    for line in found.deleted_files:
        yield f"{found.host}: a guest runs from files that were made anew under it: {line}"


def secret_faults(rows: Rows) -> list[str]:
    """Passwords that were on their way to a host, and stay when their work has ended."""
    under_way = {str(one["id"]) for one in rows["work"]}
    return [f"the secret of work {one} is left, which has ended" for one in rows["secrets"] if one not in under_way]


def promise_faults(rows: Rows, accepted: Iterable[str], deleted: Iterable[str]) -> list[str]:
    """Requests that were accepted (202, 204) and came to nothing: created ones that are gone, deleted that are not."""
    live = {str(one["id"]) for one in rows["instances"]}
    gone = set(deleted)
    return [
        *(f"{uid} was accepted by the API and is nowhere" for uid in accepted if uid not in gone | live),
        *(f"{uid} was deleted by the API and is still there" for uid in gone & live),
    ]
