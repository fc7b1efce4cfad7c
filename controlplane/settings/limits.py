"""What one caller, or everybody together, may take of a web process; and what it promises of HTTPS."""

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
        least=1,
    ),
    "ANSWER_SECONDS_A_MINUTE": env.number(
        "ANSWER_SECONDS_A_MINUTE",
        20.0,
        "Seconds a minute that one project may have a web process work out explanations, what would help, and replays, "
        "one of them at a time; 0: no bound.",
        least=0.0,
    ),
    "READY_CACHE_S": env.number(
        "READY_CACHE_S", 1.0, "Seconds for which a web process answers /readyz with what it has.", least=0.0
    ),
}
