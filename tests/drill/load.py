"""The mixed load: creates, deletes, what is done to power and networks, and what the API promised about each."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from tests.drill.backup_load import BackupLoad
from tests.drill.bulk_load import BulkLoad
from tests.drill.client import Client, NoAnswerError
from tests.drill.console_load import ConsoleLoad
from tests.drill.device_load import DeviceLoad
from tests.drill.image_load import ImageLoad
from tests.drill.names import FLAVOR, IMAGES, NETWORK, RESTORED, VOLUME, image_id, image_name
from tests.drill.network_load import BRIDGES, OVN, NetworkLoad
from tests.drill.volume_load import VolumeLoad
from tests.fixtures.file_server import FileServer

ACTIONS = {
    "active": (
        "on_crash",
        "stop",
        "rescue",
        "pause",
        "rebuild",
        "suspend",
        "reboot_soft",
        "reboot",
        "attach_interface",
        "detach_interface",
        "soft_delete",
        "backup",
        "shelve",
    ),
    "stopped": ("start", "start", "rebuild"),
    "paused": ("unpause",),
    "suspended": ("resume",),
    "shelved_offloaded": ("unshelve", "unshelve"),
    "rescued": ("unrescue", "reboot", "unrescue"),
    "soft-delete": ("restore", "restore"),
}
"""What a burst does to instances in each state: one thing to each, as far as there are instances."""
RECORDS = ("rename", "lock", "protect", "tag")
"""What it does to the record of one of them, whatever its state."""
TRIES = 5

ARGUMENTS = {
    "on_crash": {"policy": "restart"},
    "backup": {"name": "drill", "backup_type": "drill", "rotation": "0"},
}
"""What comes with an action. Backups of rotation 0 are made, sent, and gone again."""

REBOOTED_OVER = {"reboot_soft", "pause", "suspend", "unpause", "resume"}
"""Of half of these, somebody loses patience: a hard reboot takes their place."""

BOOTS_FROM_VOLUME = 0.4
"""So many of the single creates do."""


def _disks(image: int) -> list[dict[str, Any]]:
    """Volumes that the build makes, and that go with the instance: to boot from, and one beside it."""
    made = {"destination_type": "volume", "volume_size": 1, "delete_on_termination": True}
    root = {"source_type": "image", "uuid": str(image_id(image)), "boot_index": 0, **made}
    return [root, {"source_type": "blank", "tag": "data", **made}]


@dataclass
class Promises:
    """What the API accepted. `unsure`: the connection broke before the answer, so both is right."""

    created: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    requests: int = 0
    refused: int = 0
    broken: int = 0
    unexpected: list[str] = field(default_factory=list)

    def take_unexpected(self) -> list[str]:
        """Answers that no request may get, since the last call."""
        taken, self.unexpected = self.unexpected, []
        return taken


class Load:
    """Bursts of requests. `hosts` are named by some creates, so that every kind of hypervisor gets its part."""

    def __init__(
        self,
        client: Client,
        hosts: Sequence[str],
        rng: random.Random,
        files: FileServer,
        *,
        max_instances: int = 24,
        has_ovn: bool = False,
    ) -> None:
        self._client, self._hosts, self._rng = client, list(hosts), rng
        self._max_of = max_instances
        self._lock = threading.Lock()
        self._number = 0
        self.networks = [NetworkLoad(self.ask, rng, scene) for scene in ((BRIDGES, OVN) if has_ovn else (BRIDGES,))]
        self.devices = DeviceLoad(self.ask, lambda port: self.create_in([{"port": port}])) if has_ovn else None
        self.volumes = VolumeLoad(self.ask, rng)
        self.backups = BackupLoad(self.ask, rng)
        self.consoles = ConsoleLoad(self.ask, rng)
        self.bulk = BulkLoad(self.ask, rng)
        self.images = ImageLoad(self.ask, rng, hosts, files)
        self._images_used = 1
        self._from_volume: set[str] = set()
        """Instances that boot from a volume."""
        self.promises = Promises()

    def take_unexpected(self) -> list[str]:
        """What no answer and no console may say, since the last call."""
        said, self.consoles.unexpected = self.consoles.unexpected, []
        return [*self.promises.take_unexpected(), *said]

    def burst(
        self,
        instances: Sequence[dict[str, Any]],
        *,
        host: str = "",
        fresh_image: bool = False,
        comparing_backup: bool = False,
    ) -> None:
        """A handful of requests side by side; returns when each was answered or broke off. What breaks the load itself
        is unexpected, as an answer of the API may be.

        `instances` are those that there are, as the database has them; `host` gets the single create, with an image
        that no cache has yet if so wanted (there are IMAGES of them). `comparing_backup`: the backup is told by bytes.
        """
        image = self._images_used % IMAGES if fresh_image else 0
        self._images_used += fresh_image
        calls = self._plan(list(instances), host, image)
        calls.append(self.backups.make_by_bytes if comparing_backup else self.backups.make)
        with ThreadPoolExecutor(len(calls)) as pool:
            done, _ = wait([pool.submit(call) for call in calls])
        broken = [f"the load broke: {error!r}" for one in done if (error := one.exception()) is not None]
        with self._lock:
            self.promises.unexpected += broken

    def _plan(self, instances: list[dict[str, Any]], host: str, image: int) -> list[Callable[[], None]]:
        rng = self._rng
        rng.shuffle(instances)
        by_state: dict[str, list[str]] = {}
        for one in instances:
            by_state.setdefault(one["vm_state"], []).append(str(one["id"]))
        hosts = {str(one["id"]): str(one["host"]) for one in instances}
        actives, surplus = by_state.get("active", []), max(0, len(instances) - self._max_of)
        looked_at = actives[-2:]
        going = [*by_state.get("error", [])[:3], *actives[: 1 + surplus]]
        going += [uid for state in ("paused", "suspended") for uid in by_state.get(state, []) if rng.random() < 0.1]
        quiet = [uid for uid in looked_at if uid not in going]
        hurried = not host and rng.random() < 0.25
        wanted = host or rng.choice([*self._hosts, "", ""])
        calls: list[Callable[[], None]] = [
            lambda: self.create(1, host=wanted, image=image, then_delete=hurried),
            lambda: self.create(rng.randint(2, 3)),
            *(step for one in self.networks for step in (one.route, one.float)),
            self.networks[0].rule,
            *([self.devices.make] if self.devices else []),
            *(one.port for one in self.networks[1:]),
            self.volumes.make,
            self.volumes.change,
            self.volumes.move,
            self.volumes.upload,
            lambda: self.volumes.attach([uid for uid in actives if uid not in going]),
            lambda: self.bulk.begin([uid for uid in actives if uid not in going]),
            self.images.bring,
            self.images.cache,
            self.backups.restore,
            lambda: self.consoles.visit([(uid, hosts[uid]) for uid in quiet or actives]),
        ]
        calls += [self._call(self.delete, uid) for uid in going]
        calls += [self._call(self.look, uid) for uid in looked_at]
        for state, actions in ACTIONS.items():
            staying = [uid for uid in by_state.get(state, []) if uid not in going]
            if state == "active":
                self._rebuild_one_with_volume(staying, actions)
            calls += [self._call(self.act, uid, action) for uid, action in zip(staying, actions, strict=False)]
        if instances:
            calls.append(self._call(self.note, str(rng.choice(instances)["id"]), rng.choice(RECORDS)))
        return calls

    def _rebuild_one_with_volume(self, staying: list[str], actions: Sequence[str]) -> None:
        """Change places, so that one that boots from a volume is the one that is rebuilt, if there is any."""
        place = actions.index("rebuild") if "rebuild" in actions else len(staying)
        booted = [number for number, uid in enumerate(staying) if uid in self._from_volume]
        if booted and place < len(staying):
            staying[place], staying[booted[0]] = staying[booted[0]], staying[place]

    @staticmethod
    def _call(verb: Callable[..., None], *arguments: str) -> Callable[[], None]:
        return lambda: verb(*arguments)

    def create(
        self,
        count: int,
        *,
        host: str = "",
        image: int = 0,
        then_delete: bool = False,
        hints: Mapping[str, str] | None = None,
        may_have_volumes: bool = True,
    ) -> None:
        """Ask for `count` instances, and delete them at once when told to: in whatever step they are."""
        body: dict[str, Any] = {"name": self._name(), "flavor": FLAVOR, "image": image_name(image), "min_count": count}
        if count == 1:  # a password that is encrypted until the guest runs, and a disk that vendor data speaks of
            body |= {"generate_admin_pass": True, "hostname": "drill.lab.example", "disk_config": "MANUAL"}
        if count == 1 and may_have_volumes and self._rng.random() < BOOTS_FROM_VOLUME:
            body |= {"image": "", "block_device_mapping_v2": _disks(image)}
        if count > 1:  # and where a network of ours can be had
            body["networks"] = [{"network": NETWORK}, {"network": self._network(), "tag": "second"}]
        if hints:
            body["hints"] = dict(hints)
        if host:
            body["availability_zone"] = f"nova:{host}"
        made = self.ask("instances/", body)
        if made is None:
            return
        ids = [str(one["id"]) for one in made["instances"]]
        with self._lock:
            self.promises.created.update(ids)
            self._from_volume.update(ids if "block_device_mapping_v2" in body else ())
        for uid in ids if then_delete else ():
            self.delete(uid)

    def create_in(self, cards: Sequence[Mapping[str, str]]) -> None:
        """Ask for one instance with these cards."""
        made = self.ask(
            "instances/", {"name": self._name(), "flavor": FLAVOR, "image": image_name(0), "networks": list(cards)}
        )
        with self._lock:
            self.promises.created.update(str(one["id"]) for one in (made or {"instances": []})["instances"])

    def delete(self, uid: str) -> None:
        """Delete one for good. What somebody protects at this moment is refused."""
        answer = self.ask(f"instances/{uid}/?force=1", None, "DELETE", subject=uid, fine=(404,))
        if answer is not None:
            with self._lock:
                self.promises.deleted.add(uid)

    def act(self, uid: str, action: str) -> None:
        """Ask for one of `ACTIONS`; instead of a card, a volume comes or goes now and then."""
        if action.endswith("_interface") and self._rng.random() < 0.5:
            self._volume(uid)
            return
        if action == "soft_delete":
            self.ask(f"instances/{uid}/", None, "DELETE", subject=uid, fine=(404,))
        elif action == "rebuild":
            anew = {"reimage_boot_volume": True} if uid in self._from_volume else {}
            self.ask(f"instances/{uid}/rebuild/", {"image": image_name(self._rng.randrange(2)), **anew}, subject=uid)
        elif action == "detach_interface":
            cards = self.ask(f"instances/{uid}/interfaces/", None, "GET", fine=(404,)) or []
            for card in cards[-1:]:
                self.ask(f"instances/{uid}/interfaces/{card['port_id']}/", None, "DELETE", subject=uid, fine=(404,))
        elif action == "rescue":
            self.ask(f"instances/{uid}/rescue/", {}, subject=uid)
        else:
            body = {"action": action, **ARGUMENTS.get(action, {})}
            if action == "attach_interface":
                body["network"] = self._network()
                if self._rng.random() < 0.3:  # the second one waits behind the first
                    self.ask(f"instances/{uid}/actions/", body, subject=uid)
                body["tag"] = f"more-{self._rng.randrange(10**9)}"
            self.ask(f"instances/{uid}/actions/", body, subject=uid)
            if action in REBOOTED_OVER and self._rng.random() < 0.5:
                self.ask(f"instances/{uid}/actions/", {"action": "reboot"}, subject=uid)

    def _volume(self, uid: str) -> None:
        """Detach a volume that the instance does not boot from; one without gets a volume that nobody has."""
        had = self.ask(f"instances/{uid}/volumes/", None, "GET", fine=(404,)) or []
        for one in [each for each in had if each["boot_index"] < 0][:1]:
            self.ask(f"instances/{uid}/volumes/{one['volume_id']}/", None, "DELETE", subject=uid, fine=(404,))
            return
        free = (self.ask("volumes/?state=available", None, "GET") or {}).get("results", [])
        for one in [each for each in free if each["name"] not in (VOLUME, RESTORED)][:1]:
            body = {"volume": one["id"], "delete_on_termination": True}
            self.ask(f"instances/{uid}/volumes/", body, subject=uid, fine=(404,))

    def note(self, uid: str, what: str) -> None:
        """Do one of `RECORDS`. A lock and a protection are taken off again, so that the rest of the load goes on."""
        path = f"instances/{uid}/"
        if what == "rename":
            self.ask(path, {"name": self._name()}, "PATCH", subject=uid, fine=(404,))
        elif what == "tag":
            self.ask(f"{path}tags/drill/", None, "PUT", subject=uid, fine=(404,))
        else:
            self.ask(f"{path}actions/", {"action": what}, subject=uid, fine=(404,))
            for _ in range(TRIES):
                if self.ask(f"{path}actions/", {"action": f"un{what}"}, subject=uid, fine=(404,)) is not None:
                    return

    def look(self, uid: str) -> None:
        """At its screen, its log, and at what can be done to it: one that goes meanwhile is not found."""
        self.ask(f"instances/{uid}/screenshot/", {}, fine=(404,))
        for what in ("screenshot", "console-log", "console-log/download", "actions", "counters"):
            self.ask(f"instances/{uid}/{what}/", None, "GET", fine=(404,))

    def _network(self) -> str:
        """One of those for guests."""
        return self._rng.choice([one.scene.network for one in self.networks])

    def _name(self) -> str:
        with self._lock:
            self._number += 1
            return f"vm-{self._number}"

    def ask(
        self, path: str, body: Any, method: str | None = None, *, subject: str = "", fine: tuple[int, ...] = ()
    ) -> Any:
        """The body of an accepted request ({} when it has none); None otherwise."""
        try:
            answer = self._client.call(path, body, method)
        except NoAnswerError:
            with self._lock:
                self.promises.broken += 1
                self.promises.requests += 1
                self.promises.unsure.add(subject)
            return None
        with self._lock:
            self.promises.requests += 1
            if answer.is_ok or answer.status in fine:
                return answer.body or {}
            self.promises.refused += 1
            # A conflict (409) is the state's right, 503 a database that is busy; anything else is a defect of ours.
            if answer.status not in {409, 503}:
                self.promises.unexpected.append(f"{method or 'POST'} {path}: {answer.status} {str(answer.body)[:300]}")
        return None
