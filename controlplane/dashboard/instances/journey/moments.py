"""Moments of a journey: the control plane stepped in, a fault was written, it became active."""

import json
from datetime import datetime
from typing import Any

from controlplane.dashboard.instances.journey.lanes import Lane, Tone
from controlplane.dashboard.instances.journey.words import heal_words, step_words


def heal_lane(heal: Any, *, is_admin: bool) -> Lane:
    """What was put right. Its words and numbers may name hosts: they are for admins."""
    return Lane(
        title=heal_words(heal.kind),
        tone=Tone.WARN,
        outcome="by itself",
        began=heal.created_at,
        ended=heal.created_at,
        causes=(heal.found, heal.done) if is_admin else (),
        evidence=json.dumps(heal.evidence, indent=2, sort_keys=True) if is_admin and heal.evidence else "",
    )


def fault_lane(fault: Any) -> Lane:
    """A failure that no attempt tells of."""
    return Lane(
        title=f"{step_words(fault.step) if fault.step else 'Build'} failed",
        tone=Tone.BAD,
        outcome="failed",
        began=fault.created_at,
        ended=fault.created_at,
        causes=(fault.message,),
    )


def active_lane(at: datetime) -> Lane:
    """The end that everybody hopes for."""
    return Lane(title="Active", tone=Tone.GOOD, outcome="runs", began=at, ended=at)
