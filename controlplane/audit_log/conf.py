"""Settings of the audit log."""

from dataclasses import dataclass

from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class AuditLogOptions:
    """How long entries stay."""

    audit_log_retention_days: float = setting(
        365.0,
        _("Days for which entries of the audit log are kept; 0: for ever. What remains can still be verified."),
    )


def audit_log_options() -> AuditLogOptions:
    """The options as settings have them now."""
    return options_now(AuditLogOptions)
