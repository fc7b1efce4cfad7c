"""The routes of what Nova passed on to other services, each until the version that ended it."""

from controlplane.openstack.routes import Endpoint, Route
from servers.openstack.compute.access import ComputeAccess
from servers.openstack.compute.views import hosts_proxy, image_proxy, network_proxy, volume_proxy

IMAGES, IMAGES_WRITE = ComputeAccess.IMAGES_READ, ComputeAccess.IMAGES_WRITE
NETWORKS = ComputeAccess.NETWORKS_READ
ADDRESSES, ADDRESSES_WRITE = ComputeAccess.FLOATING_IPS_READ, ComputeAccess.FLOATING_IPS_WRITE
GROUPS, GROUPS_WRITE = ComputeAccess.SECURITY_GROUPS_READ, ComputeAccess.SECURITY_GROUPS_WRITE
VOLUMES, VOLUMES_WRITE = ComputeAccess.VOLUMES_READ, ComputeAccess.VOLUMES_WRITE
HOSTS, HOSTS_WRITE = ComputeAccess.HYPERVISORS_READ, ComputeAccess.HOSTS_WRITE
IMAGE, HOST = "/v2.1/images/{image_id}", "/v2.1/os-hosts/{host}"
LAST, METADATA_LAST, HOSTS_LAST = 35, 38, 42

PROXY_ROUTES = (
    Route("/v2.1/images", {"GET": Endpoint(image_proxy.images_list, IMAGES, until=LAST)}),
    Route("/v2.1/images/detail", {"GET": Endpoint(image_proxy.images_detail, IMAGES, until=LAST)}),
    Route(
        IMAGE,
        {
            "GET": Endpoint(image_proxy.image_show, IMAGES, until=LAST),
            "DELETE": Endpoint(image_proxy.image_remove, IMAGES_WRITE, until=LAST),
        },
    ),
    Route(
        IMAGE + "/metadata",
        {
            "GET": Endpoint(image_proxy.metadata_show, IMAGES, until=METADATA_LAST),
            "POST": Endpoint(image_proxy.metadata_merge, IMAGES_WRITE, until=METADATA_LAST, takes=True),
            "PUT": Endpoint(image_proxy.metadata_replace, IMAGES_WRITE, until=METADATA_LAST, takes=True),
        },
    ),
    Route(
        IMAGE + "/metadata/{key}",
        {
            "GET": Endpoint(image_proxy.metadata_item_show, IMAGES, until=METADATA_LAST),
            "PUT": Endpoint(image_proxy.metadata_item_put, IMAGES_WRITE, until=METADATA_LAST, takes=True),
            "DELETE": Endpoint(image_proxy.metadata_item_remove, IMAGES_WRITE, until=METADATA_LAST),
        },
    ),
    Route("/v2.1/os-networks", {"GET": Endpoint(network_proxy.networks_list, NETWORKS, until=LAST)}),
    Route("/v2.1/os-networks/{network_id}", {"GET": Endpoint(network_proxy.network_show, NETWORKS, until=LAST)}),
    Route("/v2.1/os-tenant-networks", {"GET": Endpoint(network_proxy.tenant_networks_list, NETWORKS, until=LAST)}),
    Route(
        "/v2.1/os-tenant-networks/{network_id}",
        {"GET": Endpoint(network_proxy.tenant_network_show, NETWORKS, until=LAST)},
    ),
    Route("/v2.1/os-floating-ip-pools", {"GET": Endpoint(network_proxy.pools_list, ADDRESSES, until=LAST)}),
    Route(
        "/v2.1/os-floating-ips",
        {
            "GET": Endpoint(network_proxy.floating_ips_list, ADDRESSES, until=LAST),
            "POST": Endpoint(network_proxy.floating_ip_add, ADDRESSES_WRITE, until=LAST),
        },
    ),
    Route(
        "/v2.1/os-floating-ips/{floating_ip_id}",
        {
            "GET": Endpoint(network_proxy.floating_ip_show, ADDRESSES, until=LAST),
            "DELETE": Endpoint(network_proxy.floating_ip_remove, ADDRESSES_WRITE, until=LAST),
        },
    ),
    Route(
        "/v2.1/os-security-groups",
        {
            "GET": Endpoint(network_proxy.groups_list, GROUPS, until=LAST),
            "POST": Endpoint(network_proxy.group_add, GROUPS_WRITE, until=LAST, takes=True),
        },
    ),
    Route(
        "/v2.1/os-security-groups/{group_id}",
        {
            "GET": Endpoint(network_proxy.group_show, GROUPS, until=LAST),
            "PUT": Endpoint(network_proxy.group_change, GROUPS_WRITE, until=LAST, takes=True),
            "DELETE": Endpoint(network_proxy.group_remove, GROUPS_WRITE, until=LAST),
        },
    ),
    Route(
        "/v2.1/os-security-group-rules",
        {"POST": Endpoint(network_proxy.rule_add, GROUPS_WRITE, until=LAST, takes=True)},
    ),
    Route(
        "/v2.1/os-security-group-rules/{rule_id}",
        {"DELETE": Endpoint(network_proxy.rule_remove, GROUPS_WRITE, until=LAST)},
    ),
    Route(
        "/v2.1/os-volumes",
        {
            "GET": Endpoint(volume_proxy.volumes_list, VOLUMES, until=LAST),
            "POST": Endpoint(volume_proxy.volume_add, VOLUMES_WRITE, until=LAST, takes=True),
        },
    ),
    Route("/v2.1/os-volumes/detail", {"GET": Endpoint(volume_proxy.volumes_list, VOLUMES, until=LAST)}),
    Route(
        "/v2.1/os-volumes/{volume_id}",
        {
            "GET": Endpoint(volume_proxy.volume_show, VOLUMES, until=LAST),
            "DELETE": Endpoint(volume_proxy.volume_remove, VOLUMES_WRITE, until=LAST),
        },
    ),
    Route(
        "/v2.1/os-snapshots",
        {
            "GET": Endpoint(volume_proxy.snapshots_list, VOLUMES, until=LAST),
            "POST": Endpoint(volume_proxy.snapshot_add, VOLUMES_WRITE, until=LAST, takes=True),
        },
    ),
    Route("/v2.1/os-snapshots/detail", {"GET": Endpoint(volume_proxy.snapshots_list, VOLUMES, until=LAST)}),
    Route(
        "/v2.1/os-snapshots/{snapshot_id}",
        {
            "GET": Endpoint(volume_proxy.snapshot_show, VOLUMES, until=LAST),
            "DELETE": Endpoint(volume_proxy.snapshot_remove, VOLUMES_WRITE, until=LAST),
        },
    ),
    Route("/v2.1/os-hosts", {"GET": Endpoint(hosts_proxy.hosts_list, HOSTS, until=HOSTS_LAST)}),
    Route(
        HOST,
        {
            "GET": Endpoint(hosts_proxy.host_show, HOSTS, until=HOSTS_LAST),
            "PUT": Endpoint(hosts_proxy.host_change, HOSTS_WRITE, until=HOSTS_LAST, takes=True),
        },
    ),
    Route(HOST + "/startup", {"GET": Endpoint(hosts_proxy.host_power, HOSTS_WRITE, until=HOSTS_LAST)}),
    Route(HOST + "/shutdown", {"GET": Endpoint(hosts_proxy.host_power, HOSTS_WRITE, until=HOSTS_LAST)}),
    Route(HOST + "/reboot", {"GET": Endpoint(hosts_proxy.host_power, HOSTS_WRITE, until=HOSTS_LAST)}),
)
