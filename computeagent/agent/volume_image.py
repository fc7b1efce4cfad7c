"""The image that a volume is made of, as a file of this host."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldWork
from computeagent.agent.images import bytes_had
from computeagent.drivers.base import DriverError
from computeagent.protocol.images import WantedImage
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import VolumeSource
from computeagent.volumes.base import ImageFile


@contextmanager
def volume_image(context: AgentContext, held: HeldWork, source: VolumeSource) -> Iterator[ImageFile]:
    """What has the file when it is called: in the cache of the hypervisor's images, or, where that has none, one of our
    own for as long as the block lasts. Calling it raises DriverError, Fenced.
    """
    own = context.state_dir / "volume_images" / f"{held.lease.work_id}.{held.lease.attempt}"
    try:
        yield partial(_image_file, context, held, source, own)
    finally:
        own.unlink(missing_ok=True)


def _image_file(context: AgentContext, held: HeldWork, source: VolumeSource, own: Path) -> Path:
    image = WantedImage(source.id, source.checksum, source.size_bytes, source.disk_format)

    def chunks(offset: int = 0) -> Iterator[bytes]:
        for chunk in context.conductor.image_chunks(lease=held.lease, image_id=source.id, offset=offset):
            held.check()
            yield chunk

    def read() -> Path:
        found = context.driver.cache_image(image, chunks)
        return found or _fetch(own, chunks(), source)

    return bytes_had(context.retry, held, read)


def _fetch(own: Path, chunks: Iterator[bytes], source: VolumeSource) -> Path:
    """Write it, and compare. Raises DriverError: NETWORK where what arrives is not what the checksum says."""
    digest = hashlib.sha256()
    try:
        own.parent.mkdir(parents=True, exist_ok=True)
        with own.open("wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
    except OSError as error:
        raise DriverError(f"image {source.id} cannot be written: {error}") from error
    if digest.hexdigest() != source.checksum.removeprefix("sha256:").lower():
        raise DriverError(f"image {source.id} does not match its checksum", failure_class=FailureClass.NETWORK)
    return own
