"""What a project may have and what it uses, as clients ask for it before they make something."""

from django.http import HttpResponse

from controlplane.identity.selectors import quota_limits
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request
from servers.catalog.selectors.quota import owner_quota_usage, quota_usage
from servers.networks.selectors.quota import network_quota_usage
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.faults import named_in_body
from servers.openstack.compute.quota_names import FILES_UNTIL, NETWORKS_COUNTED, NETWORKS_UNTIL

LIST_NAMES = QueryNames({"reserved", "tenant_id"})
IMAGE_METADATA_UNTIL = 38


def limits_show(call: ComputeCall) -> HttpResponse:
    """Of the caller's project, or of another one for administrators. Rates are not limited by project."""
    call.check_names(LIST_NAMES)
    asked = call.query.get("tenant_id")
    project_id = parse_uuid(asked) if asked else call.caller.project_id
    if project_id != call.caller.own_project_id and not call.caller.sees_all:
        raise Forbidden("Policy doesn't allow limits of other projects to be read.")
    if project_id is None:
        raise bad_request(f"Project ID {asked:.80} is not a valid project.")
    with named_in_body():
        limits = quota_limits(project_id=project_id)
    used, owned = quota_usage(project_id=project_id), owner_quota_usage(project_id=project_id)
    shown = {
        "maxTotalInstances": limits.instances,
        "maxTotalCores": limits.cores,
        "maxTotalRAMSize": limits.ram_mib,
        "maxTotalKeypairs": limits.key_pairs,
        "maxServerMeta": limits.metadata_items,
        "maxServerGroups": limits.server_groups,
        "maxServerGroupMembers": limits.server_group_members,
        "totalInstancesUsed": used.instances,
        "totalCoresUsed": used.cores,
        "totalRAMUsed": used.ram_mib,
        "totalServerGroupsUsed": owned["server_groups"],
    }
    if call.minor <= FILES_UNTIL:
        shown |= {"maxPersonality": limits.injected_files, "maxPersonalitySize": limits.injected_file_content_bytes}
    if call.minor <= IMAGE_METADATA_UNTIL:
        shown["maxImageMeta"] = limits.metadata_items
    if call.minor <= NETWORKS_UNTIL:
        taken = network_quota_usage(project_id=project_id, names=NETWORKS_COUNTED)
        shown |= {
            "maxTotalFloatingIps": limits.floating_ips,
            "maxSecurityGroups": limits.security_groups,
            "maxSecurityGroupRules": limits.security_group_rules,
            "totalFloatingIpsUsed": taken["floating_ips"],
            "totalSecurityGroupsUsed": taken["security_groups"],
        }
    return call.answer({"limits": {"rate": [], "absolute": shown}})
