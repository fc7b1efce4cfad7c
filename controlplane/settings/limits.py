"""What callers and projects may take, for how long rows of what is gone are kept, and what is promised of HTTPS."""

from typing import Any

from controlplane.settings import env

HSTS_SECONDS = env.integer(
    "HSTS_SECONDS", 31_536_000, "Seconds for which browsers shall use HTTPS only, in production; 0: no such promise."
)
HSTS_INCLUDE_SUBDOMAINS = env.boolean(
    "HSTS_INCLUDE_SUBDOMAINS", False, "Whether that holds for all names below this one, other people's sites included."
)
HSTS_PRELOAD = env.boolean(
    "HSTS_PRELOAD", False, "Whether browsers may build the promise in: it then outlasts this setting by months."
)
LIMIT_SETTINGS: dict[str, Any] = {
    "LOGIN_HASHES": env.integer(
        "LOGIN_HASHES",
        2,
        "Passwords that one web process checks at once; twice as many wait, and further log-ins are refused (503).",
        minimum=1,
    ),
    "ANSWER_SECONDS_A_MINUTE": env.number(
        "ANSWER_SECONDS_A_MINUTE",
        20.0,
        "Seconds a minute that one project may have a web process work out explanations, what would help, and replays, "
        "one of them at a time; 0: no bound.",
        minimum=0.0,
    ),
    "READY_CACHE_S": env.number(
        "READY_CACHE_S", 1.0, "Seconds for which a web process answers /readyz with what it has.", minimum=0.0
    ),
    "DEFAULT_QUOTA_INSTANCES": env.integer(
        "DEFAULT_QUOTA_INSTANCES", 20, "Instances a project may have; -1, here and in the next five: any.", minimum=-1
    ),
    "DEFAULT_QUOTA_CORES": env.integer("DEFAULT_QUOTA_CORES", 40, "vCPUs a project may have.", minimum=-1),
    "DEFAULT_QUOTA_RAM_MIB": env.integer(
        "DEFAULT_QUOTA_RAM_MIB", 51200, "Memory a project may have, in MiB.", minimum=-1
    ),
    "DEFAULT_QUOTA_IMAGES": env.integer("DEFAULT_QUOTA_IMAGES", 100, "Images a project may have.", minimum=-1),
    "DEFAULT_QUOTA_IMAGE_BYTES": env.integer(
        "DEFAULT_QUOTA_IMAGE_BYTES", 128 * 2**30, "Bytes that the files of a project's images may have.", minimum=-1
    ),
    "DEFAULT_QUOTA_IMAGE_UPLOADS": env.integer(
        "DEFAULT_QUOTA_IMAGE_UPLOADS", 4, "Images a project may upload at the same time.", minimum=-1
    ),
    "IMAGE_RESERVE_BYTES": env.integer(
        "IMAGE_RESERVE_BYTES",
        2**30,
        "Free bytes that uploads leave on the file system of IMAGE_DIR; 0: none.",
    ),
    "DELETED_RETENTION_DAYS": env.number(
        "DELETED_RETENTION_DAYS",
        30.0,
        "Days for which a deleted instance, with all that happened to it, and the record of a deleted image are kept; "
        "0: for ever.",
        minimum=0.0,
    ),
    "ADMIN_LOG_RETENTION_DAYS": env.number(
        "ADMIN_LOG_RETENTION_DAYS",
        365.0,
        "Days for which the log of what was done in the Django admin is kept; 0: for ever.",
        minimum=0.0,
    ),
    "IMAGE_UNKNOWN_DAYS": env.number(
        "IMAGE_UNKNOWN_DAYS",
        7.0,
        "Days after which a whole file in IMAGE_DIR that no image explains (the database was restored from an older "
        "backup) is moved to its directory trash; 0: never.",
        minimum=0.0,
    ),
    "HEAL_RETENTION_DAYS": env.number(
        "HEAL_RETENTION_DAYS",
        30.0,
        "Days for which the record of what was put right is kept; 0: for ever.",
        minimum=0.0,
    ),
    "NOTIFICATION_RETENTION_DAYS": env.number(
        "NOTIFICATION_RETENTION_DAYS", 7.0, "Days for which notifications are kept; 0: for ever.", minimum=0.0
    ),
    "NOTIFICATION_DEADLINE_S": env.number(
        "NOTIFICATION_DEADLINE_S", 86400.0, "Seconds after which an event is not sent any more.", minimum=1.0
    ),
}
