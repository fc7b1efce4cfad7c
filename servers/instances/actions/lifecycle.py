"""Rules of the actions that begin and end an instance."""

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.rule import POWER_DEADLINE_S, ActionGroup, ActionRule, BulkAction, Step
from servers.states import TaskState, VmState

_T, _V = TaskState, VmState

CREATE = ActionRule(
    name="create",
    title=gettext_noop("Create"),
    doing=gettext_noop("Building"),
    policy="instances:create",
    guard="create",
    work=WorkKind.BUILD,
    task=_T.SCHEDULING,
    steps=(
        Step("claim", gettext_noop("Claim on the host")),
        Step("group_check", gettext_noop("Group rule")),
        Step("networking", gettext_noop("Network"), _T.NETWORKING),
        Step("block_device_mapping", gettext_noop("Image and disks"), _T.BLOCK_DEVICE_MAPPING),
        Step("spawning", gettext_noop("Start the guest"), _T.SPAWNING),
    ),
    vm_state_after=_V.ACTIVE,
    notification="create",
)
SCHEDULE_AGAIN = ActionRule(
    name="schedule_again",
    title=gettext_noop("Schedule again"),
    doing=gettext_noop("Being scheduled again"),
    help=gettext_noop("Tries the same request again with today's fleet and policy."),
    group=ActionGroup.PLACE,
    policy="instances:act",
    guard="schedule_again",
    vm_state_after=_V.BUILDING,
    bulk=BulkAction("schedule_again", "Schedule the chosen instances again"),
)
DELETE = ActionRule(
    name="delete",
    title=gettext_noop("Delete"),
    doing=gettext_noop("Being deleted"),
    help=gettext_noop("Powers it off and removes it with its disks."),
    group=ActionGroup.DELETION,
    is_main=True,
    policy="instances:delete",
    is_deletion=True,
    guard="delete",
    work=WorkKind.DELETE,
    task=_T.DELETING,
    vm_state_after=_V.DELETED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="delete",
    deadline_s=86400.0,
    bulk=BulkAction(
        "delete_instances",
        "Delete the chosen instances and their disks",
        gettext_noop(
            "These instances and their disks are deleted: for good, unless RECLAIM_INSTANCE_INTERVAL_S is set; then "
            "they can be restored for so long."
        ),
    ),
)
FORCE_DELETE = ActionRule(
    name="force_delete",
    title=gettext_noop("Delete for good"),
    doing=gettext_noop("Being deleted"),
    policy="instances:delete",
    is_deletion=True,
    guard="force_delete",
    bulk=BulkAction(
        "force_delete_instances",
        "Delete the chosen instances and their disks for good, at once",
        gettext_noop("These instances and their disks are deleted for good, also where they could be restored."),
    ),
)
SOFT_DELETE = ActionRule(
    name="soft_delete",
    shuts_down=True,
    title=gettext_noop("Delete"),
    doing=gettext_noop("Being deleted"),
    policy="instances:delete",
    is_deletion=True,
    guard="soft_delete",
    work=WorkKind.SOFT_DELETE,
    task=_T.SOFT_DELETING,
    vm_state_after=_V.SOFT_DELETE,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="soft_delete",
    deadline_s=POWER_DEADLINE_S,
)
RESTORE = ActionRule(
    name="restore",
    title=gettext_noop("Restore"),
    doing=gettext_noop("Being restored"),
    help=gettext_noop("Takes the deletion back and starts it again."),
    group=ActionGroup.DELETION,
    is_main=True,
    policy="instances:act",
    guard="restore",
    work=WorkKind.RESTORE,
    task=_T.RESTORING,
    vm_state_after=_V.ACTIVE,
    notification="restore",
    deadline_s=POWER_DEADLINE_S,
    is_verb=True,
    takes_quota=True,
    bulk=BulkAction("restore", "Restore the chosen instances"),
)
