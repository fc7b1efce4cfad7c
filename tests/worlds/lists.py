"""Every list of the panel, by the name that views and addresses have for it."""

from controlplane.dashboard.audit_log.listing import AUDIT_LOG
from controlplane.dashboard.bulk_jobs.listing import BULK_JOBS
from controlplane.dashboard.catalog.flavor_listing import FLAVORS
from controlplane.dashboard.catalog.keypair_listing import KEYPAIRS
from controlplane.dashboard.catalog.server_group_listing import SERVER_GROUPS
from controlplane.dashboard.decisions.listing import DECISIONS
from controlplane.dashboard.drift.listing import DRIFT, HEALS
from controlplane.dashboard.hosts.aggregates import AGGREGATES
from controlplane.dashboard.hosts.listing import HOSTS
from controlplane.dashboard.identity.project_listing import PROJECTS
from controlplane.dashboard.identity.user_group_listing import USER_GROUPS
from controlplane.dashboard.identity.user_listing import USERS
from controlplane.dashboard.images.listing import IMAGES
from controlplane.dashboard.instances.console_listing import CONSOLES
from controlplane.dashboard.instances.listing import INSTANCES
from controlplane.dashboard.networks.floating_ip_listing import FLOATING_IPS
from controlplane.dashboard.networks.listing import NETWORKS
from controlplane.dashboard.networks.router_listing import ROUTERS
from controlplane.dashboard.networks.security_group_listing import SECURITY_GROUPS
from controlplane.dashboard.policies.listing import POLICIES
from controlplane.dashboard.ports.listing import PORTS
from controlplane.dashboard.providers.listing import PROVIDERS
from controlplane.dashboard.volumes.backup_listing import VOLUME_BACKUPS
from controlplane.dashboard.volumes.listing import VOLUMES
from controlplane.dashboard.volumes.pool_listing import STORAGE_POOLS
from controlplane.dashboard.volumes.snapshot_listing import VOLUME_SNAPSHOTS
from controlplane.dashboard.volumes.type_listing import VOLUME_TYPES
from controlplane.dashboard.webhooks.listing import WEBHOOKS
from controlplane.dashboard.work.listing import WORK

EVERY_LIST = (
    *(INSTANCES, IMAGES, FLAVORS, KEYPAIRS, SERVER_GROUPS),
    *(NETWORKS, PORTS, ROUTERS, FLOATING_IPS, SECURITY_GROUPS),
    *(VOLUMES, VOLUME_SNAPSHOTS, VOLUME_BACKUPS, VOLUME_TYPES, STORAGE_POOLS),
    *(HOSTS, AGGREGATES, PROVIDERS),
    *(DECISIONS, POLICIES, WORK, BULK_JOBS, CONSOLES, DRIFT, HEALS, AUDIT_LOG, WEBHOOKS),
    *(PROJECTS, USERS, USER_GROUPS),
)
