"""An instance on a host that reaches a pool, for tests of volumes that come to it and leave it."""

from pathlib import Path
from typing import Any

from computeagent.protocol.volumes import VolumeSource
from computeagent.protocol.work import WorkKind
from computeagent.volumes.memory import MemoryBackend
from servers.instances.services.act import instance_act
from servers.models import Instance, StoragePool, Volume, VolumeAttachment
from servers.volumes.selectors.volume_specs import volume_spec
from tests.worlds.agent_hands import Hands, built, people_and_image
from tests.worlds.attachments import pool_row, volume_in

ATTACH, DETACH = "attach_volume", "detach_volume"


class Cloud:
    """One instance on a host that reaches one pool, in which there is a volume."""

    def __init__(self, path: Path, backend: MemoryBackend | None = None) -> None:
        self.who = people_and_image()
        self.backend = backend or MemoryBackend("shared", is_shared=True)
        self.h1 = Hands("h1", path, pools=[self.backend])
        self.pool = StoragePool.objects.first() or pool_row("shared", "h1")
        self.vm = built(self.who.member, self.h1)
        self.volume = self.made("data")

    def made(self, name: str, **fields: Any) -> Volume:
        volume = volume_in(self.pool, self.who.member.project_id, name=name, **fields)
        self.backend.create(
            volume_spec(volume), VolumeSource(), image_file=Path, key_of=str.encode, progress=lambda _a, _b: None
        )
        return volume

    def act(self, action: str, caller: Any = None, **arguments: str) -> Instance:
        return instance_act(
            caller=caller or self.who.member, instance_id=self.vm.pk, action=action, arguments=arguments
        )

    def attached(self, name: str = "data", **arguments: str) -> None:
        self.act(ATTACH, volume=name, **arguments)
        self.h1.do(WorkKind.ATTACH_VOLUME)

    def guest_has(self) -> list[str]:
        return list(self.h1.fake._guests[str(self.vm.pk)].volumes)

    def states(self) -> tuple[str, str, str]:
        """Of the volume, its attachment, and the instance's task."""
        attachment = VolumeAttachment.objects.filter(volume=self.volume).first()
        row = Instance.objects.get(pk=self.vm.pk)
        volume = Volume.objects.get(pk=self.volume.pk)
        return volume.state, attachment.state if attachment else "", row.task_state
