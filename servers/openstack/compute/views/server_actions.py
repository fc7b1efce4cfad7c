"""The table of a server's actions: in which versions each is there, what it takes, and who may ask for it."""

from dataclasses import dataclass

import orjson
from django.http import HttpResponse

from computeagent.protocol.consoles import ConsoleKind
from controlplane.identity.policy import require
from controlplane.openstack.described import Schema
from controlplane.openstack.faults import bad_request
from servers.openstack.compute.access import ComputeAccess
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.schemas import actions as bodies
from servers.openstack.compute.schemas.actions import ActionSchema, nothing_body
from servers.openstack.compute.schemas.servers import rebuild_schema
from servers.openstack.compute.views import actions_run as runs
from servers.openstack.compute.views.actions_run import ActionRun

CONSOLES_UNTIL, FLOATING_UNTIL, FIXED_UNTIL = 5, 43, 43
ACT, MIGRATE = ComputeAccess.SERVERS_ACT, ComputeAccess.SERVERS_MIGRATE


@dataclass(frozen=True, slots=True)
class ServerAction:
    """One action; its service asks for more where more is needed."""

    run: ActionRun
    body: ActionSchema
    access: ComputeAccess = ACT
    since: int = 1
    until: int | None = None

    def is_in(self, minor: int) -> bool:
        """Whether this version has it."""
        return self.since <= minor and (self.until is None or minor <= self.until)


class ServerActions(dict[str, ServerAction]):
    """Actions by their names."""

    def body_schema(self, minor: int) -> Schema:
        """Of any of those that this version has."""
        return {"oneOf": [one.body(minor).schema for one in self.values() if one.is_in(minor)]}


def _verb(name: str, action: str, access: ComputeAccess = ACT) -> ServerAction:
    return ServerAction(runs.verb(action), nothing_body(name), access)


VERBS = {
    "os-start": "start",
    "os-stop": "stop",
    "pause": "pause",
    "unpause": "unpause",
    "suspend": "suspend",
    "resume": "resume",
    "unlock": "unlock",
    "unrescue": "unrescue",
    "restore": "restore",
    "shelve": "shelve",
}
"""Those that take nothing along, by our names."""

ACTIONS = ServerActions(
    {name: _verb(name, action) for name, action in VERBS.items()}
    | {
        "reboot": ServerAction(runs.reboot, bodies.REBOOT),
        "lock": ServerAction(runs.lock, bodies.LOCK),
        "unshelve": ServerAction(runs.unshelve, bodies.UNSHELVE),
        "shelveOffload": _verb("shelveOffload", "shelve_offload", ComputeAccess.SERVERS_SHELVE_OFFLOAD),
        "rebuild": ServerAction(runs.rebuild, rebuild_schema, ComputeAccess.SERVERS_REBUILD),
        "rescue": ServerAction(runs.rescue, bodies.RESCUE),
        "changePassword": ServerAction(runs.change_password, bodies.CHANGE_PASSWORD),
        "createImage": ServerAction(runs.create_image, bodies.CREATE_IMAGE),
        "createBackup": ServerAction(runs.create_backup, bodies.CREATE_BACKUP),
        "forceDelete": ServerAction(runs.force_delete, nothing_body("forceDelete"), ComputeAccess.SERVERS_DELETE),
        "os-resetState": ServerAction(runs.reset_state, bodies.RESET_STATE, ComputeAccess.SERVERS_RESET_STATE),
        "injectNetworkInfo": ServerAction(
            runs.inject_network_info, nothing_body("injectNetworkInfo"), ComputeAccess.SERVERS_RESET_STATE
        ),
        "os-getConsoleOutput": ServerAction(runs.console_output, bodies.CONSOLE_OUTPUT, ComputeAccess.CONSOLE),
        "addSecurityGroup": ServerAction(
            runs.security_group_add, bodies.group_body("addSecurityGroup"), ComputeAccess.SECURITY_GROUPS_WRITE
        ),
        "removeSecurityGroup": ServerAction(
            runs.security_group_remove, bodies.group_body("removeSecurityGroup"), ComputeAccess.SECURITY_GROUPS_WRITE
        ),
        "addFloatingIp": ServerAction(
            runs.floating_ip_add, bodies.ADD_FLOATING_IP, ComputeAccess.FLOATING_IPS_WRITE, until=FLOATING_UNTIL
        ),
        "removeFloatingIp": ServerAction(
            runs.floating_ip_remove, bodies.REMOVE_FLOATING_IP, ComputeAccess.FLOATING_IPS_WRITE, until=FLOATING_UNTIL
        ),
        "addFixedIp": ServerAction(runs.fixed_address_add, bodies.ADD_FIXED_IP, until=FIXED_UNTIL),
        "removeFixedIp": ServerAction(runs.fixed_address_remove, bodies.REMOVE_FIXED_IP, until=FIXED_UNTIL),
        "os-getVNCConsole": ServerAction(
            runs.console(ConsoleKind.VNC),
            bodies.console_body("os-getVNCConsole", "novnc"),
            ComputeAccess.CONSOLE,
            until=CONSOLES_UNTIL,
        ),
        "os-getSerialConsole": ServerAction(
            runs.console(ConsoleKind.SERIAL),
            bodies.console_body("os-getSerialConsole", "serial"),
            ComputeAccess.CONSOLE,
            until=CONSOLES_UNTIL,
        ),
        "os-getSPICEConsole": ServerAction(
            runs.no_console,
            bodies.console_body("os-getSPICEConsole", "spice-html5"),
            ComputeAccess.CONSOLE,
            until=CONSOLES_UNTIL,
        ),
        "os-getRDPConsole": ServerAction(
            runs.no_console,
            bodies.console_body("os-getRDPConsole", "rdp-html5"),
            ComputeAccess.CONSOLE,
            until=CONSOLES_UNTIL,
        ),
        "trigger_crash_dump": ServerAction(
            runs.verb("trigger_crash_dump"), nothing_body("trigger_crash_dump"), since=17
        ),
        "resize": ServerAction(runs.not_provided("resize"), bodies.RESIZE),
        "confirmResize": ServerAction(runs.not_provided("confirm_resize"), nothing_body("confirmResize")),
        "revertResize": ServerAction(runs.not_provided("revert_resize"), nothing_body("revertResize")),
        "migrate": ServerAction(runs.not_provided("migrate"), bodies.MIGRATE, MIGRATE),
        "os-migrateLive": ServerAction(runs.not_provided("live_migrate"), bodies.LIVE_MIGRATE, MIGRATE),
        "evacuate": ServerAction(runs.not_provided("evacuate"), bodies.EVACUATE, ComputeAccess.SERVERS_MOVE),
    }
)


def server_act(call: ComputeCall, server_id: str) -> HttpResponse:
    """The action that is the one key of the body."""
    try:
        body = orjson.loads(call.request.body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"Malformed request body: {error}") from error
    if not isinstance(body, dict) or len(body) != 1:
        raise bad_request("A request names one action: its body is an object with one key.")
    (name,) = body
    action = ACTIONS.get(name)
    if action is None or not action.is_in(call.minor):
        raise bad_request(f"There is no such action: {name:.80}")
    require(call.caller, action.access.value)
    asked = call.named(name, action.body(call.minor))
    return action.run(call, uuid_of(server_id, what="Instance"), asked)
