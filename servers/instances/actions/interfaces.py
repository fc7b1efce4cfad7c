"""Rules of the actions that add a network interface to an instance and take one away, while it runs or is off."""

from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.rule import DEVICE_TASKS, POWER_DEADLINE_S, ActionGroup, ActionRule, Argument, Step
from servers.states import TaskState

ATTACH_INTERFACE = ActionRule(
    name="attach_interface",
    title=gettext_noop("Add an interface"),
    doing=gettext_noop("Getting a network interface"),
    help=gettext_noop("Adds a network card, at once where the guest runs."),
    group=ActionGroup.NETWORK,
    policy="instances:act",
    guard="attach_interface",
    work=WorkKind.ATTACH_INTERFACE,
    task=TaskState.NETWORKING,
    steps=(Step("networking", gettext_noop("Network card")),),
    notification="interface_attach",
    deadline_s=POWER_DEADLINE_S,
    waits_behind=DEVICE_TASKS,
    is_verb=True,
    arguments=(
        Argument(
            "network",
            gettext_noop("Network, by id or name; without network and port the only one that the project may use."),
        ),
        Argument("port", gettext_noop("A port that is there, by id or name, instead of a network.")),
        Argument(
            "fixed_ip", gettext_noop("An address of the network; any free one where none is named."), max_length=60
        ),
        Argument(
            "tag", gettext_noop("Told to the guest with the card, so that it knows which one it is."), max_length=60
        ),
        Argument(
            "security_groups",
            gettext_noop("Ids or names with commas between, for a port that is made."),
            max_length=2000,
        ),
    ),
)
DETACH_INTERFACE = ActionRule(
    name="detach_interface",
    title=gettext_noop("Remove an interface"),
    doing=gettext_noop("Losing a network interface"),
    help=gettext_noop("Takes a network card away; a guest that runs is asked to let go of it."),
    loss=gettext_noop(
        "The card and its addresses are gone. A port that was given to the instance stays, for another one."
    ),
    group=ActionGroup.NETWORK,
    policy="instances:act",
    guard="detach_interface",
    work=WorkKind.DETACH_INTERFACE,
    task=TaskState.NETWORKING,
    steps=(Step("networking", gettext_noop("Network card")),),
    notification="interface_detach",
    deadline_s=POWER_DEADLINE_S,
    waits_behind=DEVICE_TASKS,
    is_verb=True,
    arguments=(Argument("port", gettext_noop("The interface's port, by id."), max_length=60, is_required=True),),
)
