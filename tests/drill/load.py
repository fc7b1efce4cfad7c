"""The mixed load: creates, deletes, what is done to power and networks, and what the API promised about each."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from tests.drill.action_load import RECORDS, ActionLoad
from tests.drill.backup_load import BackupLoad
from tests.drill.bulk_load import BulkLoad
from tests.drill.client import Client, NoAnswerError
from tests.drill.console_load import ConsoleLoad
from tests.drill.device_load import DeviceLoad
from tests.drill.image_load import ImageLoad
from tests.drill.names import FLAVOR, IMAGES, LARGE_FLAVOR, NETWORK, image_id, image_name
from tests.drill.network_load import BRIDGES, OVN, NetworkLoad
from tests.drill.port_load import PortLoad
from tests.drill.volume_load import VolumeLoad
from tests.fixtures.file_server import FileServer

BOOTS_FROM_VOLUME = 0.4
"""So many of the single creates do."""
HOPELESS = 0.7
"""With so many bursts, one is asked for that no host has room for: it is scheduled again by a later one."""
CRASHES = 0.8
"""In so many bursts a guest crashes."""


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
    asked: Counter[str] = field(default_factory=Counter)
    """How often each action of the table was asked for by name; bulk jobs are not counted."""
    accepted: Counter[str] = field(default_factory=Counter)

    @property
    def actions(self) -> dict[str, tuple[int, int]]:
        """How often each was asked for, and accepted; in the order of their names."""
        return {name: (self.asked[name], self.accepted[name]) for name in sorted(self.asked) if name}

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
        self.ports = PortLoad(self.ask, rng, NETWORK)
        self.volumes = VolumeLoad(self.ask, rng)
        self.backups = BackupLoad(self.ask, rng)
        self.consoles = ConsoleLoad(self.ask, rng)
        self.bulk = BulkLoad(self.ask, rng)
        self.images = ImageLoad(self.ask, rng, hosts, files)
        self._images_used = 1
        self._from_volume: set[str] = set()
        """Instances that boot from a volume."""
        self.actions = ActionLoad(
            self.ask,
            rng,
            name=self._name,
            network=self._network,
            port=self.ports.free,
            from_volume=self._from_volume,
        )
        self.crash: Callable[[str, str], None] = lambda _host, _instance: None
        """Has the guest of an instance crash on its host; the stage says how."""
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
        rebuilding_volume: bool = False,
    ) -> None:
        """A handful of requests side by side; returns when each was answered or broke off. What breaks the load itself
        is unexpected, as an answer of the API may be.

        `instances` are those that there are, as the database has them; `host` gets the single create, with an image
        that no cache has yet if so wanted (there are IMAGES of them). `comparing_backup`: the backup is told by bytes.
        `rebuilding_volume`: instances that boot from a volume stay, one more comes, and one that there is is rebuilt.
        """
        image = self._images_used % IMAGES if fresh_image else 0
        self._images_used += fresh_image
        calls = self._plan(list(instances), host, image, rebuilding_volume=rebuilding_volume)
        calls.append(self.backups.make_by_bytes if comparing_backup else self.backups.make)
        with ThreadPoolExecutor(len(calls)) as pool:
            done, _ = wait([pool.submit(call) for call in calls])
        broken = [f"the load broke: {error!r}" for one in done if (error := one.exception()) is not None]
        with self._lock:
            self.promises.unexpected += broken

    def _plan(
        self, instances: list[dict[str, Any]], host: str, image: int, *, rebuilding_volume: bool
    ) -> list[Callable[[], None]]:
        rng = self._rng
        rng.shuffle(instances)
        by_state: dict[str, list[str]] = {}
        for one in instances:
            by_state.setdefault(one["vm_state"], []).append(str(one["id"]))
        hosts = {str(one["id"]): str(one["host"]) for one in instances}
        actives, surplus = by_state.get("active", []), max(0, len(instances) - self._max_of)
        looked_at = actives[-2:]
        # One of those that no host had room for, and those that the load reset to error, are not given up yet.
        tried = [str(one["id"]) for one in instances if one["vm_state"] == "error" and not one["host"]][:1]
        failed = [uid for uid in by_state.get("error", []) if uid not in {*tried, *self.actions.reset}]
        going = [*failed[:3], *actives[: 1 + surplus]]
        going += [uid for state in ("paused", "suspended") for uid in by_state.get(state, []) if rng.random() < 0.1]
        if rebuilding_volume:
            going = [uid for uid in going if uid not in self._from_volume]
        quiet = [uid for uid in looked_at if uid not in going]
        hurried = not host and rng.random() < 0.25
        wanted = host or rng.choice([*self._hosts, "", ""])
        calls: list[Callable[[], None]] = [
            lambda: self.create(
                1, host=wanted, image=image, then_delete=hurried, boots_from_volume=rebuilding_volume or None
            ),
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
        calls += [self._call(self.actions.look, uid) for uid in looked_at]
        calls += self.actions.calls(
            {state: [uid for uid in ids if uid not in going] for state, ids in by_state.items()},
            must_rebuild_volume=rebuilding_volume,
        )
        if instances:
            calls.append(self._call(self.actions.note, str(rng.choice(instances)["id"]), rng.choice(RECORDS)))
        return calls + self._of_some(instances, going)

    def _of_some(self, instances: Sequence[Mapping[str, Any]], going: Collection[str]) -> list[Callable[[], None]]:
        """What is done to those alone that are in ERROR without a host, were reset to it, or crashed; and the crash."""
        calls: list[Callable[[], None]] = []
        staying = [one for one in instances if str(one["id"]) not in going]
        failed = [one for one in staying if one["vm_state"] == "error"]
        calls += [self.actions.call(str(one["id"]), "schedule_again") for one in failed if not one["host"]]
        calls += [
            self.actions.call(uid, "reset_state") for one in failed if (uid := str(one["id"])) in self.actions.reset
        ]
        crashed = [one for one in staying if (one["vm_state"], one["power_state"]) == ("stopped", "crashed")]
        calls += [self.actions.call(str(one["id"]), "crash_seen") for one in crashed]
        running = [one for one in staying if one["vm_state"] == "active" and not one["task_state"]]
        if running and self._rng.random() < CRASHES:
            one = self._rng.choice(running)
            calls.append(self._call(self.crash, str(one["host"]), str(one["id"])))
        if self._rng.random() < HOPELESS:
            calls.append(lambda: self.create(1, flavor=LARGE_FLAVOR, may_have_volumes=False))
        return calls

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
        boots_from_volume: bool | None = None,
        flavor: str = FLAVOR,
    ) -> None:
        """Ask for `count` instances, and delete them at once when told to: in whatever step they are."""
        body: dict[str, Any] = {"name": self._name(), "flavor": flavor, "image": image_name(image), "min_count": count}
        if count == 1:  # a password that is encrypted until the guest runs, and a disk that vendor data speaks of
            body |= {"generate_admin_pass": True, "hostname": "drill.lab.example", "disk_config": "MANUAL"}
        boots = self._rng.random() < BOOTS_FROM_VOLUME if boots_from_volume is None else boots_from_volume
        if count == 1 and may_have_volumes and boots:
            body |= {"image": "", "block_device_mapping_v2": _disks(image)}
        if count > 1:  # and where a network of ours can be had
            body["networks"] = [{"network": NETWORK}, {"network": self._network(), "tag": "second"}]
        if hints:
            body["hints"] = dict(hints)
        if host:
            body["availability_zone"] = f"nova:{host}"
        made = self.ask("instances/", body, action="create")
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
        path = f"instances/{uid}/?force=1"
        answer = self.ask(path, None, "DELETE", subject=uid, fine=(404,), action="force_delete")
        if answer is not None:
            with self._lock:
                self.promises.deleted.add(uid)

    def _network(self) -> str:
        """One of those for guests."""
        return self._rng.choice([one.scene.network for one in self.networks])

    def _name(self) -> str:
        with self._lock:
            self._number += 1
            return f"vm-{self._number}"

    def ask(
        self,
        path: str,
        body: Any,
        method: str | None = None,
        *,
        subject: str = "",
        fine: tuple[int, ...] = (),
        action: str = "",
    ) -> Any:
        """The body of an accepted request ({} when it has none); None otherwise. `action`: as which it is counted."""
        with self._lock:
            self.promises.asked[action] += 1
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
            self.promises.accepted[action] += answer.is_ok
            if answer.is_ok or answer.status in fine:
                return answer.body or {}
            self.promises.refused += 1
            # A conflict (409) is the state's right, 503 a database that is busy; anything else is a defect of ours.
            if answer.status not in {409, 503}:
                self.promises.unexpected.append(f"{method or 'POST'} {path}: {answer.status} {str(answer.body)[:300]}")
        return None
