"""What methods of the Network API need."""

from enum import Enum


class NetworkAccess(Enum):
    """The values are actions of the policy."""

    NETWORKS_READ = "networks:read"
    NETWORKS_WRITE = "networks:write"
    PORTS_READ = "ports:read"
    PORTS_WRITE = "ports:write"
    ROUTERS_READ = "routers:read"
    ROUTERS_WRITE = "routers:write"
    FLOATING_IPS_READ = "floating_ips:read"
    FLOATING_IPS_WRITE = "floating_ips:write"
    GROUPS_READ = "security_groups:read"
    GROUPS_WRITE = "security_groups:write"
    QUOTAS_READ = "quotas:read"
    PROJECTS_READ = "projects:read"
    PROJECTS_WRITE = "projects:write"
    ZONES_READ = "availability_zones:read"
    HOSTS_READ = "hosts:read"
