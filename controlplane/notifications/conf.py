"""Settings of notifications and of the webhooks that get them."""

from dataclasses import dataclass

from controlplane.infra.conf import options_now
from controlplane.kernel.settings import networks_problem, setting
from controlplane.kernel.texts import phrase as _

NETWORKS_SETTING = "NOTIFICATION_ALLOWED_NETWORKS"


@dataclass(frozen=True, slots=True)
class NotificationOptions:
    """Which events are written, and how long and where webhooks are tried."""

    format: str = setting(
        "versioned",
        _("Form of notifications: Nova's versioned payloads, or none at all."),
        env="NOTIFICATION_FORMAT",
        choices=("versioned", "none"),
    )
    events: tuple[str, ...] = setting(
        (),
        _(
            "Patterns of events (scheduler.*) that are always written and logged; others only while a webhook "
            "wants them."
        ),
        env="NOTIFICATION_EVENTS",
    )
    log: bool = setting(
        True, _("Whether each notification that is written goes to the log as well."), env="NOTIFICATION_LOG"
    )
    timeout_s: float = setting(
        10.0,
        _("Seconds that a webhook's receiver may take to answer."),
        env="NOTIFICATION_TIMEOUT_S",
        min_value=0.1,
    )
    attempts: int = setting(
        12,
        _("How often an event is sent to a webhook before it is given up."),
        env="NOTIFICATION_ATTEMPTS",
        min_value=1,
    )
    deadline_s: float = setting(
        86400.0,
        _("Seconds after which an event is not sent any more."),
        env="NOTIFICATION_DEADLINE_S",
        min_value=1,
    )
    retention_days: float = setting(
        7.0, _("Days for which notifications are kept; 0: for ever."), env="NOTIFICATION_RETENTION_DAYS"
    )
    allowed_networks: tuple[str, ...] = setting(
        (),
        _(
            "Addresses and networks (10.0.0.0/8) that webhooks may reach though they are loopback, link-local or "
            "private."
        ),
        env=NETWORKS_SETTING,
        problem=networks_problem,
    )


def notification_options() -> NotificationOptions:
    """The options as settings have them now."""
    return options_now(NotificationOptions)
