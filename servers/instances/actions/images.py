"""Rules of the actions that make images of instances, and of those that keep an instance as an image, on no host."""

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from servers.instances.actions.rule import (
    SAVE_DEADLINE_S,
    ActionGroup,
    ActionRule,
    Argument,
    ArgumentKind,
    BulkAction,
    Step,
    Subject,
)
from servers.states import TaskState, VmState

_T, _V = TaskState, VmState
IMAGE_DEADLINE_S = 14400.0
"""For what copies a disk and sends it, as long as a move may take."""
MAX_ROTATION = 1000


def _volume_refusal(instance: Subject) -> str:
    """As in Nova, no backup with rotation is made of an instance whose disks are volumes."""
    if not instance.is_bfv:
        return ""
    return _("The instance boots from a volume: make a snapshot of it, or backups of its volumes.")


def _shelve_refusal(instance: Subject) -> str:
    """As in Nova: what a TPM holds stays on its host, and keys that are sealed by it would be lost with it."""
    asked = present_names(instance.image.get("properties", {})).get("hw_tpm_version")
    if not (asked or instance.flavor.get("extra_specs", {}).get("hw:tpm_version")):
        return ""
    return _("The instance has a TPM, whose state is kept on its host alone: it would be lost with what it protects.")


SNAPSHOT = ActionRule(
    name="snapshot",
    title=gettext_noop("Snapshot"),
    doing=gettext_noop("Being copied into an image"),
    help=gettext_noop(
        "Copies its root disk into a new image, or its volumes into snapshots that an image names, while it runs on."
    ),
    group=ActionGroup.DATA,
    policy="instances:act",
    guard="create_image",
    work=WorkKind.SNAPSHOT,
    task=_T.IMAGE_SNAPSHOT,
    steps=(
        Step("image_snapshot_pending", gettext_noop("Copy of the disk"), _T.IMAGE_SNAPSHOT_PENDING),
        Step("image_pending_upload", gettext_noop("Checksum"), _T.IMAGE_PENDING_UPLOAD),
        Step("image_uploading", gettext_noop("Sending to the image store"), _T.IMAGE_UPLOADING),
    ),
    notification="snapshot",
    deadline_s=IMAGE_DEADLINE_S,
    is_verb=True,
    arguments=(Argument("name", gettext_noop("Name of the new image."), is_required=True),),
)
BACKUP = ActionRule(
    name="backup",
    title=gettext_noop("Backup"),
    doing=gettext_noop("Being backed up"),
    help=gettext_noop("Makes an image as a snapshot does, and removes the oldest backups of its kind."),
    group=ActionGroup.DATA,
    policy="instances:act",
    guard="create_backup",
    work=WorkKind.BACKUP,
    task=_T.IMAGE_BACKUP,
    steps=(
        Step("image_backup", gettext_noop("Copy of the disk"), _T.IMAGE_BACKUP),
        Step("image_pending_upload", gettext_noop("Checksum"), _T.IMAGE_PENDING_UPLOAD),
        Step("image_uploading", gettext_noop("Sending to the image store"), _T.IMAGE_UPLOADING),
    ),
    notification="backup",
    deadline_s=IMAGE_DEADLINE_S,
    is_verb=True,
    refusal=_volume_refusal,
    arguments=(
        Argument("name", gettext_noop("Name of the new image."), is_required=True),
        Argument("backup_type", gettext_noop("Which backups it is one of, such as daily."), is_required=True),
        Argument(
            "rotation",
            gettext_noop("How many backups of this type are kept, the new one included; the oldest go."),
            kind=ArgumentKind.NUMBER,
            is_required=True,
            max_value=MAX_ROTATION,
        ),
    ),
)
SHELVE = ActionRule(
    name="shelve",
    shuts_down=True,
    title=gettext_noop("Shelve"),
    doing=gettext_noop("Being shelved"),
    help=gettext_noop("Shuts it down and keeps its root disk as an image, so that its host has room for others."),
    loss=gettext_noop(
        "Its memory is lost, and once it leaves its host its ephemeral disks and UEFI variables are. Its root disk is "
        "kept."
    ),
    group=ActionGroup.PLACE,
    policy="instances:act",
    guard="shelve",
    work=WorkKind.SHELVE,
    task=_T.SHELVING,
    steps=(
        Step("shelving", gettext_noop("Power off"), _T.SHELVING),
        Step("shelving_image_copy", gettext_noop("Copy of the disk")),
        Step("shelving_image_pending_upload", gettext_noop("Checksum"), _T.SHELVING_IMAGE_PENDING_UPLOAD),
        Step("shelving_image_uploading", gettext_noop("Sending to the image store"), _T.SHELVING_IMAGE_UPLOADING),
    ),
    vm_state_after=_V.SHELVED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="shelve",
    deadline_s=IMAGE_DEADLINE_S,
    is_verb=True,
    refusal=_shelve_refusal,
    bulk=BulkAction(
        "shelve",
        "Shelve the chosen instances",
        gettext_noop(
            "These instances are shut down and kept as images; their hosts are free for others until they are "
            "unshelved."
        ),
    ),
)
SHELVE_OFFLOAD = ActionRule(
    name="shelve_offload",
    shuts_down=True,
    title=gettext_noop("Leave the host"),
    doing=gettext_noop("Leaving its host"),
    help=gettext_noop("Removes it from its host. It comes back from its image, on any host."),
    loss=gettext_noop("What is on its ephemeral disks is lost. Its root disk is kept."),
    group=ActionGroup.PLACE,
    policy="instances:shelve_offload",
    guard="shelve_offload",
    work=WorkKind.SHELVE_OFFLOAD,
    task=_T.SHELVING_OFFLOADING,
    vm_state_after=_V.SHELVED_OFFLOADED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="shelve_offload",
    deadline_s=SAVE_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "shelve_offload",
        "Let the chosen shelved instances leave their hosts",
        gettext_noop(
            "Their guests and disks on these hosts are removed; they come back from their images when they are "
            "unshelved."
        ),
    ),
)
UNSHELVE = ActionRule(
    name="unshelve",
    is_main=True,
    title=gettext_noop("Unshelve"),
    doing=gettext_noop("Being unshelved"),
    help=gettext_noop("Brings it back: where it is, or, if it left its host, on one that is chosen anew."),
    group=ActionGroup.PLACE,
    policy="instances:act",
    guard="unshelve",
    work=WorkKind.UNSHELVE,
    task=_T.UNSHELVING,
    steps=(
        Step("claim", gettext_noop("Claim on the host")),
        Step("group_check", gettext_noop("Group rule")),
        Step("networking", gettext_noop("Network")),
        Step("block_device_mapping", gettext_noop("Image and disks")),
        Step("spawning", gettext_noop("Start the guest")),
    ),
    vm_state_after=_V.ACTIVE,
    notification="unshelve",
    deadline_s=SAVE_DEADLINE_S,
    is_verb=True,
    may_lack_host=True,
    arguments=(
        Argument("availability_zone", gettext_noop("Zone to come back in, from now on; only where it left its host.")),
        Argument("host", gettext_noop("Host to come back on, for administrators; only where it left its host.")),
    ),
    bulk=BulkAction("unshelve", "Unshelve the chosen instances"),
)
