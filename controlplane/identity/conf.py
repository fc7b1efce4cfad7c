"""Settings of identity: tokens, log-ins, and what a project may have unless it has limits of its own."""

from dataclasses import dataclass

from controlplane.identity.domain import QuotaLimits
from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting


@dataclass(frozen=True, slots=True)
class IdentityOptions:
    """Who calls, how often a password is tried, and how much a project gets."""

    token_lifetime_s: float = setting(86400.0, "Seconds an API token is good for.", min_value=60)
    login_hashes: int = setting(
        2,
        "Passwords that one web process checks at once; twice as many wait, and further log-ins are refused (503).",
        min_value=1,
    )
    trusted_proxies: int = setting(0, "Proxies before the web server whose X-Forwarded-For is believed.")
    admin_log_retention_days: float = setting(
        365.0, "Days for which the log of what was done in the Django admin is kept; 0: for ever."
    )
    default_quota_instances: int = setting(
        20, "Instances a project may have; -1, here and in the next five: any.", min_value=-1
    )
    default_quota_cores: int = setting(40, "vCPUs a project may have.", min_value=-1)
    default_quota_ram_mib: int = setting(51200, "Memory a project may have, in MiB.", min_value=-1)
    default_quota_images: int = setting(100, "Images a project may have.", min_value=-1)
    default_quota_image_bytes: int = setting(
        128 * 2**30, "Bytes that the files of a project's images may have.", min_value=-1
    )
    default_quota_image_uploads: int = setting(4, "Images a project may upload at the same time.", min_value=-1)

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
        )


def identity_options() -> IdentityOptions:
    """The options as settings have them now."""
    return options_now(IdentityOptions)
