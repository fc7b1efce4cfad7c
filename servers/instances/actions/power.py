"""Rules of the actions that change whether an instance runs."""

import re

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.rule import POWER_DEADLINE_S, SAVE_DEADLINE_S, ActionRule, BulkAction, Subject
from servers.states import TaskState, VmState

_T, _V = TaskState, VmState
_DEVICE = re.compile(r"pci_passthrough:alias|accel:device_profile|resources\w*:VGPU")
"""Keys of flavors that give a device of the host to the guest."""


def _device_refusal(instance: Subject) -> str:
    """The memory of a device is not in that of the guest. (Nova takes PCI devices out meanwhile; mediated ones it
    refuses on the host.)
    """
    asked = [key for key in instance.flavor.get("extra_specs", {}) if _DEVICE.fullmatch(key)]
    if not asked:
        return ""
    return _("Its guest has a device of the host ({keys}), whose state cannot be saved.", keys=", ".join(sorted(asked)))


START = ActionRule(
    name="start",
    title=gettext_noop("Start"),
    doing=gettext_noop("Starting"),
    help=gettext_noop("Powers it on, from the disks that it has."),
    is_main=True,
    policy="instances:act",
    guard="start",
    work=WorkKind.START,
    task=_T.POWERING_ON,
    vm_state_after=_V.ACTIVE,
    notification="power_on",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction("start", "Start the chosen instances"),
)
STOP = ActionRule(
    name="stop",
    shuts_down=True,
    title=gettext_noop("Stop"),
    doing=gettext_noop("Stopping"),
    help=gettext_noop("Asks the guest to shut down, and powers it off when it does not in time."),
    is_main=True,
    policy="instances:act",
    guard="stop",
    work=WorkKind.STOP,
    task=_T.POWERING_OFF,
    vm_state_after=_V.STOPPED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="power_off",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "stop",
        "Stop the chosen instances",
        gettext_noop("These instances are shut down; whoever uses them loses them until they are started again."),
    ),
)
REBOOT_SOFT = ActionRule(
    name="reboot_soft",
    title=gettext_noop("Soft reboot"),
    doing=gettext_noop("Rebooting"),
    help=gettext_noop("Asks the guest to shut down, powers it off when it does not in time, and starts it again."),
    is_main=True,
    policy="instances:act",
    guard="reboot_soft",
    work=WorkKind.REBOOT_SOFT,
    task=_T.REBOOTING,
    later_tasks=(_T.REBOOT_PENDING, _T.REBOOT_STARTED),
    vm_state_after=_V.ACTIVE,
    notification="reboot",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "reboot_soft",
        "Soft reboot of the chosen instances",
        gettext_noop(
            "These instances are asked to shut down, and are started again; whatever runs in them is interrupted."
        ),
    ),
)
REBOOT = ActionRule(
    name="reboot",
    title=gettext_noop("Hard reboot"),
    doing=gettext_noop("Rebooting"),
    help=gettext_noop(
        "Powers it off and on at once, also while a reboot, pause or suspend hangs: what the guest has not written to "
        "its disks is lost."
    ),
    policy="instances:act",
    guard="reboot_hard",
    work=WorkKind.REBOOT,
    task=_T.REBOOTING_HARD,
    later_tasks=(_T.REBOOT_PENDING_HARD, _T.REBOOT_STARTED_HARD),
    vm_state_after=_V.ACTIVE,
    comes_back_to=frozenset({_V.RESCUED}),
    notification="reboot",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "reboot",
        "Reboot the chosen instances",
        gettext_noop("These instances are rebooted; whatever runs in them is interrupted."),
    ),
)

PAUSE = ActionRule(
    name="pause",
    title=gettext_noop("Pause"),
    doing=gettext_noop("Pausing"),
    help=gettext_noop("The guest stands still and keeps its memory on its host."),
    policy="instances:act",
    guard="pause",
    work=WorkKind.PAUSE,
    task=_T.PAUSING,
    vm_state_after=_V.PAUSED,
    power_state_wanted=PowerState.PAUSED,
    notification="pause",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "pause",
        "Pause the chosen instances",
        gettext_noop("These instances stand still, and keep their memory, until they are unpaused."),
    ),
)
UNPAUSE = ActionRule(
    name="unpause",
    title=gettext_noop("Unpause"),
    doing=gettext_noop("Unpausing"),
    help=gettext_noop("The guest runs on where it stood."),
    is_main=True,
    policy="instances:act",
    guard="unpause",
    work=WorkKind.UNPAUSE,
    task=_T.UNPAUSING,
    vm_state_after=_V.ACTIVE,
    notification="unpause",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction("unpause", "Unpause the chosen instances"),
)
SUSPEND = ActionRule(
    name="suspend",
    title=gettext_noop("Suspend"),
    doing=gettext_noop("Suspending"),
    help=gettext_noop("Saves the memory of the guest on the disk of its host, and powers it off."),
    policy="instances:act",
    guard="suspend",
    work=WorkKind.SUSPEND,
    task=_T.SUSPENDING,
    refusal=_device_refusal,
    vm_state_after=_V.SUSPENDED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="suspend",
    deadline_s=SAVE_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "suspend",
        "Suspend the chosen instances",
        gettext_noop("The memory of these instances is saved on their hosts, and they are off until they are resumed."),
    ),
)
RESUME = ActionRule(
    name="resume",
    title=gettext_noop("Resume"),
    doing=gettext_noop("Resuming"),
    help=gettext_noop("The guest runs on from its saved memory."),
    is_main=True,
    policy="instances:act",
    guard="resume",
    work=WorkKind.RESUME,
    task=_T.RESUMING,
    vm_state_after=_V.ACTIVE,
    notification="resume",
    deadline_s=SAVE_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction("resume", "Resume the chosen instances"),
)
