"""Rules of the actions for a guest that its owner cannot get into: rescue and back, rebuild, a new password."""

from computeagent.protocol.work import WorkKind
from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from servers.instances.actions.rule import (
    POWER_DEADLINE_S,
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

IMAGE_DEADLINE_S = 1800.0
"""For what may have to bring an image to the host first."""
PASSWORD_DEADLINE_S = 300.0
PASSWORD_MAX_CHARS = 255
GUEST_AGENT = "hw_qemu_guest_agent"


def _agent_refusal(instance: Subject) -> str:
    """The guest itself changes its passwords, asked through a channel that only such an image is given."""
    if is_true(present_names(instance.image.get("properties", {})).get(GUEST_AGENT)):
        return ""
    return _(
        "Its image does not say {guest_agent}=yes, so there is no guest agent to set a password.",
        guest_agent=GUEST_AGENT,
    )


RESCUE = ActionRule(
    name="rescue",
    shuts_down=True,
    title=gettext_noop("Rescue"),
    doing=gettext_noop("Being rescued"),
    policy="instances:act",
    guard="rescue",
    work=WorkKind.RESCUE,
    task=_T.RESCUING,
    steps=(
        Step("rescue_image", gettext_noop("Rescue image")),
        Step("rescuing", gettext_noop("Start from the rescue disk")),
    ),
    vm_state_after=_V.RESCUED,
    # Nova's: nobody knows which of the two systems the guest has.
    vm_state_on_failure=_V.ERROR,
    notification="rescue",
    help=gettext_noop(
        "Boots from a rescue disk, with its own disks beside it, so that what is wrong on them can be mended."
    ),
    group=ActionGroup.REPAIR,
    deadline_s=IMAGE_DEADLINE_S,
    is_own_request=True,
)
UNRESCUE = ActionRule(
    name="unrescue",
    is_main=True,
    title=gettext_noop("End rescue"),
    doing=gettext_noop("Leaving the rescue"),
    policy="instances:act",
    guard="unrescue",
    work=WorkKind.UNRESCUE,
    task=_T.UNRESCUING,
    vm_state_after=_V.ACTIVE,
    columns_after={"rescue_image": {}},
    help=gettext_noop("Boots from its own disks again; the rescue disk is removed."),
    group=ActionGroup.REPAIR,
    notification="unrescue",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "unrescue",
        "End the rescue of the chosen instances",
        gettext_noop("These instances boot from their own disks again; their rescue disks are lost."),
    ),
)
REBUILD = ActionRule(
    name="rebuild",
    title=gettext_noop("Rebuild"),
    doing=gettext_noop("Being rebuilt"),
    policy="instances:rebuild",
    is_deletion=True,
    guard="rebuild",
    work=WorkKind.REBUILD,
    task=_T.REBUILDING,
    steps=(
        Step("rebuilding", gettext_noop("Image")),
        Step("rebuild_block_device_mapping", gettext_noop("New disks"), _T.REBUILD_BLOCK_DEVICE_MAPPING),
        Step("rebuild_spawning", gettext_noop("Start the guest"), _T.REBUILD_SPAWNING),
    ),
    vm_state_after=_V.ACTIVE,
    comes_back_to=frozenset({_V.STOPPED}),
    vm_state_on_failure=_V.ERROR,
    notification="rebuild",
    help=gettext_noop("Gets new disks from an image, on its host and with its addresses. One that is off stays off."),
    loss=gettext_noop("All that is on its disks is lost for good, and so is what its TPM and its firmware keep."),
    group=ActionGroup.REPAIR,
    deadline_s=IMAGE_DEADLINE_S,
    is_own_request=True,
)
CHANGE_PASSWORD = ActionRule(
    name="change_password",
    title=gettext_noop("Change password"),
    doing=gettext_noop("Getting a new password"),
    policy="instances:act",
    guard="change_password",
    work=WorkKind.CHANGE_PASSWORD,
    task=_T.UPDATING_PASSWORD,
    notification="change_password",
    help=gettext_noop("The agent in the guest sets the password of its administrator."),
    group=ActionGroup.REPAIR,
    deadline_s=PASSWORD_DEADLINE_S,
    is_verb=True,
    arguments=(
        Argument(
            "password",
            gettext_noop(
                "Of the guest's administrator (os_admin_user of the image; else root, or Administrator of Windows)."
            ),
            max_length=PASSWORD_MAX_CHARS,
            kind=ArgumentKind.PASSWORD,
            is_required=True,
        ),
    ),
    refusal=_agent_refusal,
)
