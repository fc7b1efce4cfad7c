"""Settings of what others add to the scheduler."""

from typing import Any

from controlplane.settings import env

PLUGIN_SETTINGS: dict[str, Any] = {
    "SCHEDULER_PLUGIN_MODULES": env.words(
        "SCHEDULER_PLUGIN_MODULES",
        (),
        "Modules, with all below them, from which policies may name filters, weighers and schedulers by dotted path; "
        "empty: only our own and those that installed packages declare as entry points.",
    ),
}
