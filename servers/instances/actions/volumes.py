"""Rules of the actions that give an instance a volume and take one away, while it runs, is off, or is on no host."""

from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.rule import (
    DEVICE_TASKS,
    POWER_DEADLINE_S,
    ActionGroup,
    ActionRule,
    Argument,
    ArgumentKind,
    Step,
)
from servers.states import TaskState

YES, NO = gettext_noop("true"), gettext_noop("false")

ATTACH_VOLUME = ActionRule(
    name="attach_volume",
    title=gettext_noop("Attach a volume"),
    doing=gettext_noop("Getting a volume"),
    help=gettext_noop("Adds a volume as a disk, at once where the guest runs."),
    group=ActionGroup.DATA,
    policy="instances:act",
    guard="attach_volume",
    work=WorkKind.ATTACH_VOLUME,
    task=TaskState.BLOCK_DEVICE_MAPPING,
    steps=(Step("block_device_mapping", gettext_noop("Disk")),),
    notification="volume_attach",
    deadline_s=POWER_DEADLINE_S,
    waits_behind=DEVICE_TASKS,
    is_verb=True,
    may_lack_host=True,
    arguments=(
        Argument("volume", gettext_noop("The volume, by id or name."), is_required=True),
        Argument(
            "device", gettext_noop("What the guest calls it, such as vdc; the next free name where none is said."), 32
        ),
        Argument(
            "tag", gettext_noop("Told to the guest with the disk, so that it knows which one it is."), max_length=60
        ),
        Argument(
            "delete_on_termination",
            gettext_noop("Whether the volume is deleted with the instance."),
            kind=ArgumentKind.CHOICE,
            choices=(NO, YES),
        ),
        Argument(
            "read_only",
            gettext_noop("Whether the guest may only read it."),
            kind=ArgumentKind.CHOICE,
            choices=(NO, YES),
        ),
    ),
)
DETACH_VOLUME = ActionRule(
    name="detach_volume",
    title=gettext_noop("Detach a volume"),
    doing=gettext_noop("Losing a volume"),
    help=gettext_noop(
        "Takes a volume away; a guest that runs is asked to let go of it, and keeps it where it does not."
    ),
    loss=gettext_noop("The guest loses the disk. Unmount it inside first; the volume and its data stay."),
    group=ActionGroup.DATA,
    policy="instances:act",
    guard="detach_volume",
    work=WorkKind.DETACH_VOLUME,
    task=TaskState.BLOCK_DEVICE_MAPPING,
    steps=(Step("block_device_mapping", gettext_noop("Disk")),),
    notification="volume_detach",
    deadline_s=POWER_DEADLINE_S,
    waits_behind=DEVICE_TASKS,
    is_verb=True,
    may_lack_host=True,
    arguments=(Argument("volume", gettext_noop("The volume, by id or name."), is_required=True),),
)
