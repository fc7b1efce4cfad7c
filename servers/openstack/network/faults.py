"""Refusals of services as Neutron's faults: {"NeutronError": {"type", "message", "detail"}}."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

import orjson
from django.http import HttpResponse

from controlplane.kernel import errors as kernel
from controlplane.openstack.faults import ApiFault, FaultsDescribed
from servers.networks.domain import errors, routing_errors

FAULTS: Mapping[type[kernel.KilonovaError], tuple[int, str]] = {
    errors.NetworkNotFound: (404, "NetworkNotFound"),
    errors.SubnetNotFound: (404, "SubnetNotFound"),
    errors.PortNotFound: (404, "PortNotFound"),
    errors.TagNotFound: (404, "TagNotFound"),
    errors.SecurityGroupNotFound: (404, "SecurityGroupNotFound"),
    errors.SecurityGroupRuleNotFound: (404, "SecurityGroupRuleNotFound"),
    routing_errors.RouterNotFound: (404, "RouterNotFound"),
    routing_errors.RouterInterfaceNotFound: (404, "RouterInterfaceNotFound"),
    routing_errors.FloatingIPNotFound: (404, "FloatingIPNotFound"),
    routing_errors.ExternalNetworkNotFound: (404, "ExternalNetworkNotFound"),
    routing_errors.ExternalGatewayForFloatingIPNotFound: (404, "ExternalGatewayForFloatingIPNotFound"),
    errors.NetworkInUse: (409, "NetworkInUse"),
    errors.SubnetInUse: (409, "SubnetInUse"),
    errors.PortInUse: (409, "PortInUse"),
    errors.IpAddressInUse: (409, "IpAddressInUse"),
    errors.MacAddressInUse: (409, "MacAddressInUse"),
    errors.NoMoreAddresses: (409, "IpAddressGenerationFailure"),
    errors.MacAddressGenerationFailure: (503, "MacAddressGenerationFailure"),
    errors.InvalidIpForNetwork: (400, "InvalidIpForNetwork"),
    errors.InvalidIpForSubnet: (400, "InvalidIpForSubnet"),
    errors.OverlappingSubnets: (400, "InvalidInput"),
    errors.GatewayIpInUse: (409, "GatewayIpInUse"),
    errors.NoNetworkAvailable: (503, "NoNetworkAvailable"),
    errors.TenantNetworksUnavailable: (503, "TenantNetworksDisabled"),
    errors.NetworkKindUnavailable: (400, "NetworkTypeUnavailable"),
    errors.InvalidSharedSetting: (409, "InvalidSharedSetting"),
    errors.ExternalNetworkInUse: (409, "ExternalNetworkInUse"),
    errors.SecurityGroupInUse: (409, "SecurityGroupInUse"),
    errors.SecurityGroupRuleExists: (409, "SecurityGroupRuleExists"),
    errors.DefaultGroup: (409, "SecurityGroupCannotUpdateDefault"),
    routing_errors.RouterInUse: (409, "RouterInUse"),
    routing_errors.RouterInterfaceInUse: (409, "RouterInterfaceInUseByFloatingIP"),
    routing_errors.RouterInterfaceInUseByRoute: (409, "RouterInterfaceInUseByRoute"),
    routing_errors.RouterGatewayInUse: (409, "RouterExternalGatewayInUseByFloatingIp"),
    routing_errors.SubnetsOverlap: (400, "BadRequest"),
    routing_errors.InvalidRoute: (400, "InvalidRoutes"),
    routing_errors.FloatingIPInUse: (409, "FloatingIPPortAlreadyAssociated"),
    kernel.QuotaExceeded: (409, "OverQuota"),
    kernel.Forbidden: (403, "PolicyNotAuthorized"),
    kernel.NotFound: (404, "HTTPNotFound"),
    kernel.Conflict: (409, "Conflict"),
    kernel.Unavailable: (503, "ServiceUnavailable"),
    kernel.Throttled: (429, "TooManyRequests"),
    kernel.TooLarge: (413, "RequestTooLarge"),
    kernel.Invalid: (400, "InvalidInput"),
}
"""By the nearest class. All that services of networks refuse with is here; the rest follows its class of the kernel."""

FIELDS: Mapping[str, str] = {
    "allowed_pairs": "allowed_address_pairs",
    "dns_servers": "dns_nameservers",
    "external_network": "external_gateway_info",
    "fixed_address": "fixed_ip_address",
    "fixed_addresses": "fixed_ips",
    "gateway": "gateway_ip",
    "gateway_address": "external_gateway_info",
    "group": "security_group_id",
    "has_dhcp": "enable_dhcp",
    "has_port_security": "port_security_enabled",
    "has_security": "port_security_enabled",
    "has_snat": "external_gateway_info",
    "ip_version": "ethertype",
    "is_enabled": "admin_state_up",
    "is_external": "router:external",
    "is_shared": "shared",
    "kind": "provider:network_type",
    "mac": "mac_address",
    "network": "network_id",
    "physical_network": "provider:physical_network",
    "pools": "allocation_pools",
    "port": "port_id",
    "port_max": "port_range_max",
    "port_min": "port_range_min",
    "remote_cidr": "remote_ip_prefix",
    "remote_group": "remote_group_id",
    "routes": "routes",
    "subnet": "subnet_id",
    "vnic_type": "binding:vnic_type",
}
"""How Neutron calls a field that a service names otherwise."""

_TYPE_OF_STATUS = {
    400: "HTTPBadRequest",
    403: "PolicyNotAuthorized",
    404: "HTTPNotFound",
    405: "HTTPMethodNotAllowed",
    409: "Conflict",
    413: "RequestTooLarge",
    415: "HTTPUnsupportedMediaType",
    500: "HTTPInternalServerError",
}


_TEXT = {"type": "string"}
FAULTS_DESCRIBED = FaultsDescribed(
    {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "NeutronError": {
                        "type": "object",
                        "properties": {"type": _TEXT, "message": _TEXT, "detail": _TEXT},
                        "required": ["type", "message", "detail"],
                    }
                },
                "required": ["NeutronError"],
            },
            {"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]},
        ]
    },
    frozenset({401, 415, *(status for status, _ in FAULTS.values())}),
)


@contextmanager
def refusals_answered() -> Iterator[None]:
    """What services refuse, with Neutron's types and statuses."""
    try:
        yield
    except kernel.KilonovaError as error:
        status, kind = next((FAULTS[base] for base in type(error).__mro__ if base in FAULTS), (400, "BadRequest"))
        raise ApiFault(status, _message(error), code=kind) from error


def _message(error: kernel.KilonovaError) -> str:
    """With the names of fields where the error has no more than reasons against them."""
    if not isinstance(error, kernel.InvalidFields):
        return error.message
    named = [f"Invalid input for {FIELDS.get(name, name)}. {' '.join(each)}" for name, each in error.errors.items()]
    return " ".join(named)


def invalid_input(field: str, reason: str) -> ApiFault:
    """400 for one field of a body or one parameter of a query."""
    return ApiFault(400, f"Invalid input for {field}. {reason}", code="InvalidInput")


def fault_response(fault: ApiFault, *, minor: int | None, accept: str, method: str) -> HttpResponse:
    """The fault as an HTTP answer. Who is not known is answered as the middleware of all services does."""
    detail = fault.detail or f"{HTTPStatus(fault.status).phrase}."
    content: Mapping[str, object]
    if fault.status == HTTPStatus.UNAUTHORIZED:
        content = {"error": {"code": 401, "title": "Unauthorized", "message": detail}}
    else:
        kind = fault.code or _TYPE_OF_STATUS.get(fault.status, "HTTPError")
        content = {"NeutronError": {"type": kind, "message": detail, "detail": ""}}
    response = HttpResponse(orjson.dumps(content), status=fault.status, content_type="application/json")
    if fault.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Keystone uri="/identity/v3"'
    if fault.allow:
        response["Allow"] = fault.allow
    return response
