"""Consoles as Nova's clients ask for them: kinds by protocol and type, and the address of the page that opens one."""

import uuid

from computeagent.protocol.consoles import ConsoleKind
from controlplane.identity.policy import allows
from servers.consoles.services import WRITE_POLICY, console_session_create
from servers.openstack.compute.call import ComputeCall

KINDS = {("vnc", "novnc"): ConsoleKind.VNC, ("serial", "serial"): ConsoleKind.SERIAL}


def console_opened(call: ComputeCall, instance_id: uuid.UUID, kind: ConsoleKind) -> str:
    """The address that opens it, once. Who may only read the project may only look. Raises Conflict, NotFound."""
    only_looks = not allows(call.caller, WRITE_POLICY)
    access = console_session_create(
        caller=call.caller, instance_id=instance_id, kind=kind, is_read_only=only_looks and kind is ConsoleKind.VNC
    )
    view = "?view=1" if access.session.is_read_only else ""
    return call.request.build_absolute_uri(f"/consoles/{access.session.kind}/{view}") + f"#token={access.token}"
