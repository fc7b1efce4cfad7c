"""The routes of the installation, for administrators: aggregates, hypervisors, services; and zones, for everybody."""

from controlplane.openstack.routes import Endpoint, Route
from servers.openstack.compute.access import ComputeAccess
from servers.openstack.compute.views import (
    aggregates,
    external_events,
    hypervisors,
    migrations,
    services,
    usage_audit,
    zones,
)

AGGREGATES, AGGREGATES_WRITE = ComputeAccess.AGGREGATES_READ, ComputeAccess.AGGREGATES_WRITE
HOSTS, HOSTS_WRITE = ComputeAccess.HYPERVISORS_READ, ComputeAccess.HOSTS_WRITE
AGGREGATE, HYPERVISOR = "/v2.1/os-aggregates/{number}", "/v2.1/os-hypervisors/{hypervisor_id}"
SERVICES = "/v2.1/os-services"
IMAGES_SINCE, FORCE_DOWN_SINCE, UUIDS_SINCE = 81, 11, 53
BY_NAME_UNTIL, STATISTICS_UNTIL = 52, 87

FLEET_ROUTES = (
    Route(
        "/v2.1/os-aggregates",
        {
            "GET": Endpoint(aggregates.aggregates_list, AGGREGATES),
            "POST": Endpoint(aggregates.aggregate_add, AGGREGATES_WRITE, takes=True),
        },
    ),
    Route(
        AGGREGATE,
        {
            "GET": Endpoint(aggregates.aggregate_show, AGGREGATES),
            "PUT": Endpoint(aggregates.aggregate_change, AGGREGATES_WRITE, takes=True),
            "DELETE": Endpoint(aggregates.aggregate_remove, AGGREGATES_WRITE),
        },
    ),
    Route(AGGREGATE + "/action", {"POST": Endpoint(aggregates.aggregate_action, AGGREGATES_WRITE, takes=True)}),
    Route(
        AGGREGATE + "/images",
        {"POST": Endpoint(aggregates.aggregate_images, AGGREGATES_WRITE, since=IMAGES_SINCE, takes=True)},
    ),
    Route("/v2.1/os-hypervisors", {"GET": Endpoint(hypervisors.hypervisors_list, HOSTS)}),
    Route("/v2.1/os-hypervisors/detail", {"GET": Endpoint(hypervisors.hypervisors_detail, HOSTS)}),
    Route(
        "/v2.1/os-hypervisors/statistics",
        {"GET": Endpoint(hypervisors.hypervisors_statistics, HOSTS, until=STATISTICS_UNTIL)},
    ),
    Route(HYPERVISOR, {"GET": Endpoint(hypervisors.hypervisor_show, HOSTS)}),
    Route(HYPERVISOR + "/uptime", {"GET": Endpoint(hypervisors.hypervisor_uptime, HOSTS, until=STATISTICS_UNTIL)}),
    Route(HYPERVISOR + "/search", {"GET": Endpoint(hypervisors.hypervisors_search, HOSTS, until=BY_NAME_UNTIL)}),
    Route(HYPERVISOR + "/servers", {"GET": Endpoint(hypervisors.hypervisors_servers, HOSTS, until=BY_NAME_UNTIL)}),
    Route(SERVICES, {"GET": Endpoint(services.services_list, HOSTS)}),
    Route(
        SERVICES + "/enable",
        {"PUT": Endpoint(services.service_enabled, HOSTS_WRITE, until=BY_NAME_UNTIL, takes=True)},
    ),
    Route(
        SERVICES + "/disable",
        {"PUT": Endpoint(services.service_disabled, HOSTS_WRITE, until=BY_NAME_UNTIL, takes=True)},
    ),
    Route(
        SERVICES + "/disable-log-reason",
        {"PUT": Endpoint(services.service_disabled_with_reason, HOSTS_WRITE, until=BY_NAME_UNTIL, takes=True)},
    ),
    Route(
        SERVICES + "/force-down",
        {
            "PUT": Endpoint(
                services.service_forced, HOSTS_WRITE, since=FORCE_DOWN_SINCE, until=BY_NAME_UNTIL, takes=True
            )
        },
    ),
    Route(
        SERVICES + "/{service_id}",
        {
            "PUT": Endpoint(services.service_change, HOSTS_WRITE, since=UUIDS_SINCE, takes=True),
            "DELETE": Endpoint(services.service_remove, HOSTS_WRITE),
        },
    ),
    Route("/v2.1/os-availability-zone", {"GET": Endpoint(zones.zones_list, ComputeAccess.ZONES_READ)}),
    Route("/v2.1/os-availability-zone/detail", {"GET": Endpoint(zones.zones_detail, HOSTS)}),
    Route("/v2.1/os-migrations", {"GET": Endpoint(migrations.migrations_list, ComputeAccess.MIGRATIONS_READ)}),
    Route(
        "/v2.1/os-server-external-events",
        {"POST": Endpoint(external_events.events_tell, ComputeAccess.SERVER_EVENTS, takes=True)},
    ),
    Route("/v2.1/os-instance_usage_audit_log", {"GET": Endpoint(usage_audit.audit_now, HOSTS)}),
    Route("/v2.1/os-instance_usage_audit_log/{before}", {"GET": Endpoint(usage_audit.audit_before, HOSTS)}),
)
