"""Images from a URL: asked for, and fetched as work. Killed anywhere, the next attempt fetches the file again; a
connection that is cut meanwhile is gone on with, where the server lets it.
"""

import contextlib
import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Fenced, Invalid, KilonovaError, Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from servers.conf import server_options
from servers.fields import refuse_if
from servers.images.domain.images import UPLOADABLE, ImageStatus, ImageTaskKind
from servers.images.domain.remote_sources import (
    SourceRules,
    checksum_in_list,
    checksum_parsed,
    file_name_of,
    source_checksum_reasons,
    url_reasons,
)
from servers.images.remote.fetch import FetchLimits, RemoteFile
from servers.images.services.image import image_create, image_owned
from servers.images.services.image_store import READABLE, image_upload
from servers.images.services.image_tasks import (
    INSTALLATION,
    TaskProgress,
    image_task_done,
    image_task_failed,
    import_begin,
)
from servers.models import Image, ImageTask

if TYPE_CHECKING:
    from hashlib import _Hash

WAITS_S = (5.0, 10.0, 20.0, 40.0, 80.0)
"""Before it is tried again, where the server or the store does not answer; then it is given up."""
LIST_MAX_BYTES = 1024 * 1024
"""Of a list of checksums."""


def source_rules() -> SourceRules:
    """What the settings allow."""
    options = server_options()
    return SourceRules(
        options.image_import_schemes,
        options.image_import_hosts,
        tuple(int(port) for port in options.image_import_ports),
        options.image_import_networks,
    )


@audited("image.import", Image, by="image_id", also=("url",))
def image_import(
    *, caller: Caller | None, image_id: uuid.UUID, url: str, checksum: str = "", checksum_url: str = ""
) -> Image:
    """Have the bytes of an image that has none fetched from `url`. It becomes active, or says why not.

    `checksum`: sha256:HEX or sha512:HEX; or it stands in the list at `checksum_url`. Raises NotFound, Forbidden;
    InvalidFields for a URL that the settings do not allow; Conflict when there are bytes, or an import is under way.
    """
    image = image_owned(caller=caller, image_id=image_id)
    rules = source_rules()
    problems = {"url": url_reasons(url, rules)}
    if checksum:
        problems["checksum"] = source_checksum_reasons(checksum)
    if checksum_url:
        problems["checksum_url"] = url_reasons(checksum_url, rules)
    refuse_if(problems)
    if checksum and checksum_url:
        refuse_if({"checksum_url": [_("Give the checksum, or the list that it stands in.")]})
    parsed = checksum_parsed(checksum)
    with transaction.atomic():
        locked = Image.objects.select_for_update().get(pk=image_id)
        if ImageStatus(locked.status) not in UPLOADABLE:
            raise Conflict(_("Image {image} has its data already.", image=image.name), field="status")
        if locked.status == ImageStatus.SAVING:
            raise Conflict(_("The bytes of image {image} are being sent already.", image=image.name), field="status")
        import_begin(
            image,
            url=url,
            checksum=":".join(parsed) if parsed else "",
            checksum_url=checksum_url,
            asked_by=caller.username if caller else INSTALLATION,
        )
    return image


@audited("image.create", Image, also=("url",))
def image_create_by_import(
    *, caller: Caller | None, url: str, checksum: str = "", checksum_url: str = "", **fields: Any
) -> Image:
    """A new image and its import, both or neither. Raises what `image_create` and `image_import` raise."""
    with transaction.atomic():
        image = image_create(caller=caller, **fields)
        return image_import(caller=caller, image_id=image.pk, url=url, checksum=checksum, checksum_url=checksum_url)


def import_run(work: Work, lease: WorkLease) -> None:
    """The work of kind `image_import`."""
    image = Image.objects.filter(pk=work.subject).exclude(status=ImageStatus.DELETED).first()
    task = ImageTask.objects.filter(image=work.subject).first()
    if image is None or task is None:
        return image_task_failed(lease, _("The image is gone."), is_refused=False)
    progress = TaskProgress(lease, "received")
    for wait_s in (*WAITS_S, None):
        if _has_its_bytes(image.pk):  # an attempt before this one got as far
            return image_task_done(lease)
        try:
            _fetch(image, task, lease, progress)
        except Fenced:
            raise
        except Unavailable as error:
            if wait_s is None:
                return image_task_failed(lease, error.message, is_refused=False)
            progress.waits(wait_s, _("{message} It is tried again.", message=error.message))
        except KilonovaError as error:
            return image_task_failed(lease, error.message, is_refused=isinstance(error, Invalid))
    return None


def _has_its_bytes(image_id: uuid.UUID) -> bool:
    """It is usable, or its bytes are there and their conversion is written."""
    return (
        Image.objects.filter(pk=image_id, status__in=[one.value for one in READABLE]).exists()
        or ImageTask.objects.filter(image=image_id, kind=ImageTaskKind.CONVERT.value).exists()
    )


def _fetch(image: Image, task: ImageTask, lease: WorkLease, progress: TaskProgress) -> None:
    checksum = task.checksum or (_listed_checksum(task, progress) if task.checksum_url else "")
    with _opened(task.source_url, progress) as remote:
        if not remote.is_end_known and not checksum:
            raise Invalid(_("The server does not say how long the file is: give its checksum."), field="checksum")
        stream = CheckedStream(remote, checksum)
        image_upload(caller=None, image_id=image.pk, stream=stream, declared_bytes=remote.total_bytes, task=lease)


@contextlib.contextmanager
def _opened(url: str, progress: TaskProgress) -> Iterator[RemoteFile]:
    options = server_options()
    limits = FetchLimits(options.image_import_deadline_s, options.image_import_slow_s, options.image_import_ca_file)
    remote = RemoteFile(url, source_rules(), limits)
    remote.between = lambda: progress.reached(remote.received_bytes, remote.total_bytes)
    with contextlib.closing(remote):
        remote.open()
        yield remote


def _listed_checksum(task: ImageTask, progress: TaskProgress) -> str:
    with _opened(task.checksum_url, progress) as remote:
        text = b""
        while chunk := remote.read(LIST_MAX_BYTES):
            text += chunk
            if len(text) > LIST_MAX_BYTES:
                raise Invalid(_("The list of checksums is too long."), field="checksum_url")
    name = file_name_of(task.source_url)
    found = checksum_in_list(text.decode(errors="replace"), name)
    if not found:
        raise Invalid(_("The list of checksums does not name {name}.", name=name[:200]), field="checksum_url")
    return found


@dataclass
class CheckedStream:
    """The bytes of a remote file, which are refused at their end unless they have the checksum (algorithm:HEX)."""

    remote: RemoteFile
    checksum: str
    _digest: "_Hash | None" = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.checksum:
            self._digest = hashlib.new(self.checksum.partition(":")[0])

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end. Raises Invalid, Unavailable, Fenced."""
        data = self.remote.read(size)
        if self._digest is None:
            return data
        self._digest.update(data)
        algorithm, _rest, wanted = self.checksum.partition(":")
        if not data and self._digest.hexdigest() != wanted:
            raise Invalid(
                _(
                    "The checksum ({algorithm}) is {digest}, not {wanted} as was said.",
                    algorithm=algorithm,
                    digest=self._digest.hexdigest(),
                    wanted=wanted,
                ),
                field="checksum",
            )
        return data
