"""Where each model stands in the admin: by subject, or under plumbing, which services keep for themselves."""

from dataclasses import dataclass

from controlplane.kernel.texts import gettext_noop


@dataclass(frozen=True, slots=True)
class AdminSection:
    """Models that belong together, by label, with the name of their list where the model's own reads badly. All names
    are English; model_names.py marks those of models.
    """

    title: str
    models: dict[str, str]


SECTIONS: tuple[AdminSection, ...] = (
    AdminSection(
        gettext_noop("Compute"),
        {
            "servers.Instance": "",
            "servers.InstanceAction": "",
            "servers.InstanceFault": "",
            "servers.BulkJob": "",
            "servers.Flavor": "",
            "servers.FlavorAccess": "access to flavors",
            "servers.DeviceProfile": "",
            "servers.Image": "",
            "servers.ImageTask": "image imports and conversions",
            "servers.ImageCertificate": "",
            "servers.KeyPair": "",
            "servers.ServerGroup": "",
            "servers.ConsoleSession": "",
        },
    ),
    AdminSection(
        gettext_noop("Network"),
        {
            "servers.Network": "",
            "servers.Subnet": "",
            "servers.Port": "",
            "servers.Router": "",
            "servers.FloatingIP": "floating addresses",
            "servers.SecurityGroup": "",
            "servers.SecurityGroupRule": "",
        },
    ),
    AdminSection(
        gettext_noop("Storage"),
        {
            "servers.Volume": "",
            "servers.VolumeSnapshot": "",
            "servers.VolumeBackup": "",
            "servers.VolumeTransfer": "",
            "servers.VolumeType": "",
            "servers.VolumeTypeAccess": "access to volume types",
            "servers.StoragePool": "",
        },
    ),
    AdminSection(
        gettext_noop("Fleet"),
        {
            "scheduling.ComputeNode": "hypervisors",
            "scheduling.Service": "",
            "scheduling.Aggregate": "",
            "scheduling.Cell": "",
            "scheduling.BuildFailures": "",
            "servers.AgentCredential": "secrets of agents",
            "servers.AgentEnrolment": "enrolments of agents",
            "servers.OrphanGuest": "guests without an instance",
            "servers.PoolSighting": "bytes without a volume",
        },
    ),
    AdminSection(
        gettext_noop("Scheduling"),
        {
            "scheduling.SchedulingDecision": "decisions",
            "scheduling.SchedulerPolicy": "policies",
            "scheduling.ShadowResult": "",
        },
    ),
    AdminSection(
        gettext_noop("Placement"),
        {
            "placement.ResourceProvider": "",
            "placement.Inventory": "",
            "placement.Allocation": "",
            "placement.ResourceClass": "",
            "placement.Trait": "",
        },
    ),
    AdminSection(
        gettext_noop("Identity"),
        {
            "identity.Project": "",
            "identity.User": "",
            "identity.UserGroup": "groups",
            "auth.Group": "permissions of the admin",
            "identity.RoleAssignment": "roles",
            "identity.SystemRole": "roles in the system",
            "identity.QuotaClass": "default quotas",
            "identity.UserQuota": "quotas of users",
            "identity.Token": "",
            "identity.ApplicationCredential": "",
            "identity.ExternalIdentity": "people from outside",
            "identity.SecondFactor": "second factors",
        },
    ),
    AdminSection(
        gettext_noop("Operations"),
        {
            "audit_log.AuditLogEntry": "",
            "work.Work": "",
            "work.Heal": "repairs",
            "notifications.Webhook": "",
            "notifications.Notification": "",
            "notifications.Delivery": "",
        },
    ),
)

PLUMBING = AdminSection(
    gettext_noop("Plumbing"),
    {
        "audit_log.AuditLogChain": "ends of the audit log",
        "identity.KnownAddress": "known addresses",
        "identity.LoginFailure": "",
        "identity.SavedView": "",
        "placement.Consumer": "",
        "placement.PlacementAggregate": "aggregates of Placement",
        "placement.ProviderAggregate": "",
        "placement.ProviderRemoval": "",
        "placement.ProviderTrait": "",
        "scheduling.AggregateHost": "hosts of aggregates",
        "scheduling.DecisionInstance": "instances of decisions",
        "scheduling.HostMapping": "",
        "scheduling.HostUsageSample": "",
        "servers.AttemptRecord": "attempts to build",
        "servers.BlockDeviceMapping": "",
        "servers.BuildRequest": "",
        "servers.BulkJobItem": "items of bulk jobs",
        "servers.ConsoleLog": "",
        "servers.DriftCheck": "",
        "servers.DriftSighting": "",
        "servers.FirstBootData": "data for first boots",
        "servers.GuestCounterChunk": "samples of guests",
        "servers.GuestPassword": "",
        "servers.HostNetworkState": "networks of hosts",
        "servers.IPAllocation": "addresses",
        "servers.ImageCacheRequest": "images asked of hosts",
        "servers.ImageMember": "",
        "servers.ImageOnHost": "images on hosts",
        "servers.ImageStore": "marker of the image store",
        "servers.InstanceMapping": "",
        "servers.OvnChange": "OVN changes",
        "servers.OvnCheck": "",
        "servers.PortGroup": "ports in security groups",
        "servers.ProjectQuotaLock": "",
        "servers.RequestSpec": "",
        "servers.Screenshot": "",
        "servers.StoragePoolHost": "hosts of storage pools",
        "servers.VolumeAttachment": "",
        "servers.VolumeKey": "keys of volumes",
        "servers.WaitingAction": "waiting changes of devices",
        "servers.WorkSecret": "secrets of work",
        "work.NamedLease": "leases",
        "work.Wakeup": "wake-ups",
    },
)

LIST_NAMES: dict[str, str] = {
    label: name for section in (*SECTIONS, PLUMBING) for label, name in section.models.items() if name
}
