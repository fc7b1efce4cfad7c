"""What was promised of a host against what its agent counts, its hypervisor has and its machine has left."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.kernel.texts import Phrase, gettext_noop


@dataclass(frozen=True, slots=True)
class HostReality:
    """One resource. `promised` is Placement's, `counted` the agent's, `running` what guests that are on have by the
    hypervisor's own word, `left` what the machine has left by the operating system's; None: nobody measured it.
    `doubts` says in sentences what does not agree.
    """

    resource: str
    unit: str
    total: int
    promised: int
    counted: int
    running: float | None
    left: float | None
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one resource, as it was reported."""

    resource: str
    unit: str
    total: int
    counted: int
    running_metric: str = ""
    left_metric: str = ""


def host_reality(figures: Figures, promised: int, metrics: Mapping[str, float]) -> HostReality:
    """Compare. `metrics` are empty when they are too old to be believed."""
    running, left = metrics.get(figures.running_metric), metrics.get(figures.left_metric)
    unit, doubts = f" {figures.unit}".rstrip(), []
    if promised != figures.counted:
        doubts.append(
            Phrase(
                gettext_noop(
                    "{promised}{unit} are promised and its agent counts {counted}{unit}: a build or a deletion is "
                    "under way, or a claim and an instance have lost each other (see Drift)."
                ),
                promised=promised,
                counted=figures.counted,
                unit=unit,
            )
        )
    if running is not None and running > figures.counted:
        doubts.append(
            Phrase(
                gettext_noop(
                    "Its running guests have {running:g}{unit}, more than the {counted}{unit} that were claimed: "
                    "somebody changed them on the hypervisor."
                ),
                running=running,
                counted=figures.counted,
                unit=unit,
            )
        )
    open_to_promise = max(0, figures.total - max(promised, figures.counted))
    if left is not None and left < open_to_promise:
        doubts.append(
            Phrase(
                gettext_noop(
                    "{open}{unit} could still be promised without overcommit, and the machine has {left:.0f}{unit} "
                    "left: something else uses it. Reserve as much."
                ),
                open=open_to_promise,
                left=left,
                unit=unit,
            )
        )
    return HostReality(
        figures.resource, figures.unit, figures.total, promised, figures.counted, running, left, tuple(doubts)
    )
