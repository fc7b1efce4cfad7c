"""What belongs to a server: addresses, the guest's password, diagnostics, consoles, security groups, shares."""

from typing import Any

from django.http import HttpResponse

from controlplane.openstack.faults import ApiFault, bad_request, not_found
from controlplane.openstack.schemas import CompiledSchema
from servers.instances.selectors.diagnostics import instance_diagnostics
from servers.instances.selectors.interfaces import instance_interfaces
from servers.instances.services.guest_password import guest_password_clear, guest_password_read
from servers.networks.selectors.groups import groups_of_instance
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.consoles import KINDS, console_opened
from servers.openstack.compute.documents.security_groups import security_group_document
from servers.openstack.compute.documents.server_facts import ServerFacts
from servers.openstack.compute.documents.servers import addresses_document
from servers.openstack.compute.schemas.parts import TEXT, closed
from servers.openstack.compute.views.servers import server_found

SAME_FOR_ALL_SINCE = 48
WHOLE_RATES = {"cpu_details": ("utilisation",), "nic_details": ("rx_rate", "tx_rate")}
CONSOLE_BODY = CompiledSchema(
    closed(["remote_console"], remote_console=closed(["protocol", "type"], protocol=TEXT, type=TEXT))
)
SHARE_BODY = CompiledSchema(closed(["share"], share=closed(["share_id"], share_id=TEXT, tag=TEXT)))


def _addresses(call: ComputeCall, server_id: str) -> dict[str, Any]:
    server = server_found(call, server_id)
    return addresses_document(server, ServerFacts(interfaces=instance_interfaces([server])), is_short=True)


def addresses_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """By the name of the network."""
    return call.answer({"addresses": _addresses(call, server_id)})


def addresses_of_network(call: ComputeCall, server_id: str, network: str) -> HttpResponse:
    """Of one network; 404 where it has none there."""
    found = _addresses(call, server_id)
    if network not in found:
        raise not_found("Instance is not a member of specified network")
    return call.answer({network: found[network]})


def password_show(call: ComputeCall, server_id: str) -> HttpResponse:
    """As the guest told it; empty where it told none."""
    found = guest_password_read(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))
    return call.answer({"password": found})


def password_clear(call: ComputeCall, server_id: str) -> HttpResponse:
    """Forgets it."""
    guest_password_clear(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))
    return call.empty()


def diagnostics_show(call: ComputeCall, server_id: str) -> HttpResponse:
    """What its guest has used: of one form for all drivers, and before that as the libvirt driver named it."""
    found = dict(instance_diagnostics(caller=call.caller, instance=server_found(call, server_id)))
    found.pop("sampled_at_s", None)
    # Clients know Nova's drivers alone, so simulated guests are of the one whose place they take.
    found["driver"] = "libvirt"
    for part, names in WHOLE_RATES.items():
        found[part] = [
            {name: _rounded(value) if name in names else value for name, value in one.items()} for one in found[part]
        ]
    return call.answer(found if call.minor >= SAME_FOR_ALL_SINCE else _old_diagnostics(found))


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)


def _old_diagnostics(found: dict[str, Any]) -> dict[str, Any]:
    old: dict[str, Any] = {"memory": found["memory_details"]["maximum"] * 1024}
    if found["memory_details"]["used"] is not None:
        old["memory-rss"] = found["memory_details"]["used"] * 1024
    old |= {f"cpu{number}_time": cpu["time"] for number, cpu in enumerate(found["cpu_details"])}
    for disk in found["disk_details"]:
        old |= {
            "vda_read": disk["read_bytes"],
            "vda_read_req": disk["read_requests"],
            "vda_write": disk["write_bytes"],
            "vda_write_req": disk["write_requests"],
            "vda_errors": -1,
        }
    for nic in found["nic_details"]:
        names = {"rx": "rx_octets", "rx_packets": "rx_packets", "rx_errors": "rx_errors", "rx_drop": "rx_drop"}
        names |= {"tx": "tx_octets", "tx_packets": "tx_packets", "tx_errors": "tx_errors", "tx_drop": "tx_drop"}
        old |= {f"vnet0_{ours}": nic[theirs] for ours, theirs in names.items()}
    return old


def console_create(call: ComputeCall, server_id: str) -> HttpResponse:
    """What opens a console, once."""
    asked = call.body(CONSOLE_BODY)["remote_console"]
    kind = KINDS.get((asked["protocol"], asked["type"]))
    if kind is None:
        raise bad_request(
            f"Unavailable console type {asked['type']:.40} of the protocol {asked['protocol']:.40}; there are: "
            + ", ".join(f"{protocol} {of}" for protocol, of in KINDS)
            + "."
        )
    url = console_opened(call, uuid_of(server_id, what="Instance"), kind)
    return call.answer({"remote_console": {**asked, "url": url}}, headers={"Cache-Control": "no-store"})


def security_groups_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """Those that its ports are in."""
    server = server_found(call, server_id)
    found = [security_group_document(one) for one in groups_of_instance(instance_uuid=server.pk)]
    return call.answer({"security_groups": found})


def shares_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """There are none: no host here can give one to a guest."""
    server_found(call, server_id)
    return call.answer({"shares": []})


def share_attach(call: ComputeCall, server_id: str) -> HttpResponse:
    """Refused, as Nova refuses it of a host that cannot."""
    call.body(SHARE_BODY)
    server_found(call, server_id)
    raise ApiFault(403, "Feature not supported by either compute or instance.")


def share_absent(call: ComputeCall, server_id: str, share_id: str) -> HttpResponse:
    """Nobody has attached it."""
    server_found(call, server_id)
    raise not_found(f"Share {share_id:.80} is not attached to server {server_id}.")
