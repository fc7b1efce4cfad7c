"""Settings of identity: tokens; log-ins here, by LDAP and by OpenID Connect; and what a project may have unless it has
limits of its own.
"""

from dataclasses import dataclass

from controlplane.identity.domain import QuotaLimits
from controlplane.identity.domain.outside import group_rules_problem
from controlplane.identity.domain.policy_file import policy_file_problem
from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class IdentityOptions:
    """Who calls, how often a password is tried, and how much a project gets."""

    token_lifetime_s: float = setting(86400.0, _("Seconds an API token is good for."), min_value=60)
    login_hashes: int = setting(
        2,
        _("Passwords that one web process checks at once; twice as many wait, and further log-ins are refused (503)."),
        min_value=1,
    )
    second_factor_required: str = setting(
        "none",
        _(
            "Who has to log in with a second factor: none; staff (superusers, who may open the Django admin, and "
            "who has the role admin anywhere); or everybody. Who has none yet sets it up while logging in. "
            "Tokens need none."
        ),
        choices=("none", "staff", "everybody"),
    )
    policy_file: str = setting(
        "",
        _("A YAML or JSON file that gives access rules to other roles than docs/access-rules.md says. Empty: none."),
        problem=policy_file_problem,
    )
    application_credentials_per_user: int = setting(
        100, _("Application credentials that a user may have, in all projects together."), min_value=0
    )
    application_credential_max_days: float = setting(
        0.0,
        _(
            "Days after which an application credential ends at the latest; 0: it may have no end. Set it where people "
            "come from an OpenID provider, which cannot be asked whether they are still there."
        ),
        min_value=0,
    )
    trusted_proxies: int = setting(0, _("Proxies before the web server whose X-Forwarded-For is believed."))
    admin_log_retention_days: float = setting(
        365.0, _("Days for which the log of what was done in the Django admin is kept; 0: for ever.")
    )
    default_quota_instances: int = setting(
        20, _("Instances a project may have; -1, here and in the next twenty-four: any."), min_value=-1
    )
    default_quota_cores: int = setting(40, _("vCPUs a project may have."), min_value=-1)
    default_quota_ram_mib: int = setting(51200, _("Memory a project may have, in MiB."), min_value=-1)
    default_quota_images: int = setting(100, _("Images a project may have."), min_value=-1)
    default_quota_image_bytes: int = setting(
        128 * 2**30, _("Bytes that the files of a project's images may have."), min_value=-1
    )
    default_quota_image_uploads: int = setting(4, _("Images a project may upload at the same time."), min_value=-1)
    default_quota_networks: int = setting(100, _("Networks a project may have."), min_value=-1)
    default_quota_subnets: int = setting(100, _("Subnets a project may have."), min_value=-1)
    default_quota_ports: int = setting(500, _("Ports a project may have."), min_value=-1)
    default_quota_routers: int = setting(10, _("Routers a project may have."), min_value=-1)
    default_quota_floating_ips: int = setting(50, _("Floating addresses a project may have."), min_value=-1)
    default_quota_security_groups: int = setting(10, _("Security groups a project may have."), min_value=-1)
    default_quota_security_group_rules: int = setting(100, _("Security group rules a project may have."), min_value=-1)
    default_quota_volumes: int = setting(10, _("Volumes a project may have."), min_value=-1)
    default_quota_volume_gib: int = setting(
        1000, _("GiB that a project's volumes and their snapshots may have together."), min_value=-1
    )
    default_quota_volume_snapshots: int = setting(10, _("Snapshots of volumes a project may have."), min_value=-1)
    default_quota_volume_backups: int = setting(10, _("Backups of volumes a project may have."), min_value=-1)
    default_quota_volume_backup_gib: int = setting(
        1000, _("GiB of the volumes that a project's backups are of, counted for each backup."), min_value=-1
    )
    default_quota_metadata_items: int = setting(
        128, _("Metadata items an instance of a project may have."), min_value=-1
    )
    default_quota_injected_files: int = setting(5, _("Files that a request may put into its guests."), min_value=-1)
    default_quota_injected_file_content_bytes: int = setting(
        10240, _("Bytes that each of these files may have."), min_value=-1
    )
    default_quota_injected_file_path_bytes: int = setting(255, _("Bytes that the path of each may have."), min_value=-1)
    default_quota_key_pairs: int = setting(
        100,
        _("Key pairs that a user may have, as far as the project says in which they are made."),
        min_value=-1,
    )
    default_quota_server_groups: int = setting(10, _("Server groups a project may have."), min_value=-1)
    default_quota_server_group_members: int = setting(10, _("Instances that a server group may have."), min_value=-1)

    @property
    def default_quota(self) -> QuotaLimits:
        """The limits of a project that has none of its own."""
        return QuotaLimits(
            instances=self.default_quota_instances,
            cores=self.default_quota_cores,
            ram_mib=self.default_quota_ram_mib,
            images=self.default_quota_images,
            image_bytes=self.default_quota_image_bytes,
            image_uploads=self.default_quota_image_uploads,
            networks=self.default_quota_networks,
            subnets=self.default_quota_subnets,
            ports=self.default_quota_ports,
            routers=self.default_quota_routers,
            floating_ips=self.default_quota_floating_ips,
            security_groups=self.default_quota_security_groups,
            security_group_rules=self.default_quota_security_group_rules,
            volumes=self.default_quota_volumes,
            volume_gib=self.default_quota_volume_gib,
            volume_snapshots=self.default_quota_volume_snapshots,
            volume_backups=self.default_quota_volume_backups,
            volume_backup_gib=self.default_quota_volume_backup_gib,
            metadata_items=self.default_quota_metadata_items,
            injected_files=self.default_quota_injected_files,
            injected_file_content_bytes=self.default_quota_injected_file_content_bytes,
            injected_file_path_bytes=self.default_quota_injected_file_path_bytes,
            key_pairs=self.default_quota_key_pairs,
            server_groups=self.default_quota_server_groups,
            server_group_members=self.default_quota_server_group_members,
        )


def identity_options() -> IdentityOptions:
    """The options as settings have them now."""
    return options_now(IdentityOptions)


def _ldap_url_problem(urls: tuple[str, ...]) -> str:
    return "" if all(one.startswith(("ldap://", "ldaps://")) for one in urls) else "must begin with ldap:// or ldaps://"


def _user_filter_problem(text: str) -> str:
    return "" if "{username}" in text else "must hold {username}"


@dataclass(frozen=True, slots=True)
class LdapOptions:
    """The directory that people log in by, beside the users that are kept here."""

    ldap_url: tuple[str, ...] = setting(
        (),
        _(
            "Servers of the LDAP directory that people log in by (ldap://host or ldaps://host), asked in this order. "
            "Empty: none."
        ),
        problem=_ldap_url_problem,
    )
    ldap_start_tls: bool = setting(
        True, _("Whether a connection to ldap:// is encrypted (StartTLS) before it is used.")
    )
    ldap_ca_file: str = setting("", _("Certificates that the directory's is checked against. Empty: the system's."))
    ldap_bind_dn: str = setting("", _("Who looks people up in the directory. Empty: nobody in particular (anonymous)."))
    ldap_bind_password: str = setting("", _("The password of that one."), is_secret=True)
    ldap_user_base: str = setting("", _("Below which entry of the directory people are (ou=people,dc=example,dc=org)."))
    ldap_user_filter: str = setting(
        "(&(objectClass=person)(uid={username}))",
        _("Which entry is a person's, and may log in; {username} stands for what was typed."),
        problem=_user_filter_problem,
    )
    ldap_username_attribute: str = setting("uid", _("The attribute that has the name of a person."))
    ldap_email_attribute: str = setting("mail", _("The attribute that has the address of a person."))
    ldap_id_attribute: str = setting(
        "entryUUID",
        _("The attribute that never changes and is never given to somebody else (Active Directory: objectGUID)."),
    )
    ldap_group_base: str = setting("", _("Below which entry groups are. Empty: groups are not asked for."))
    ldap_group_filter: str = setting(
        "(|(&(objectClass=groupOfNames)(member={dn}))(&(objectClass=posixGroup)(memberUid={username})))",
        _("Which groups a person is in; {dn} stands for the person's entry, {username} for the name."),
    )
    ldap_group_name_attribute: str = setting("cn", _("The attribute that has the name of a group."))
    ldap_group_roles: tuple[str, ...] = setting(
        (), _("What groups may here: GROUP=PROJECT:ROLE and GROUP=superuser."), problem=group_rules_problem
    )
    ldap_timeout_s: int = setting(5, _("Seconds that a server of the directory is waited for."), min_value=1)
    ldap_logins: int = setting(
        4,
        _("Log-ins for which one web process asks the directory at the same time; more are refused (503)."),
        min_value=1,
    )
    ldap_sync_interval_s: float = setting(
        300.0,
        _(
            "Seconds between looks whether people are still in the directory, and in which groups. Who is gone "
            "is switched off; 0: nobody looks."
        ),
    )


def ldap_options() -> LdapOptions:
    """The options as settings have them now."""
    return options_now(LdapOptions)


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """The OpenID provider that people log in by, beside the users that are kept here."""

    oidc_issuer: str = setting(
        "",
        _("The OpenID provider that people log in by, as its id tokens name it (https://name/...). Empty: none."),
    )
    oidc_name: str = setting("single sign-on", _("What the log-in page calls the provider."))
    oidc_client_id: str = setting("", _("What the provider calls this installation."))
    oidc_client_secret: str = setting("", _("What this installation proves that with."), is_secret=True)
    oidc_scopes: tuple[str, ...] = setting(
        ("openid", "profile", "email"),
        _("What is asked for; openid must be among it."),
        problem=lambda scopes: "" if "openid" in scopes else "must hold openid",
    )
    oidc_username_claim: str = setting("preferred_username", _("The claim that has the name of a person."))
    oidc_groups_claim: str = setting("groups", _("The claim that has the groups of a person."))
    oidc_group_roles: tuple[str, ...] = setting(
        (), _("What groups may here: GROUP=PROJECT:ROLE and GROUP=superuser."), problem=group_rules_problem
    )
    oidc_session_s: float = setting(
        28800.0,
        _("Seconds after which whoever came from the provider goes there again: who is refused there by then is out."),
        min_value=60,
    )
    oidc_is_second_factor: bool = setting(
        False,
        _("Whether a log-in at the provider counts as one with a second factor, so that none is asked for here."),
    )
    oidc_timeout_s: float = setting(10.0, _("Seconds that the provider is waited for."), min_value=0.1)


def oidc_options() -> OidcOptions:
    """The options as settings have them now."""
    return options_now(OidcOptions)
