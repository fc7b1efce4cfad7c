"""The events of a journey: the control plane healed something, a fault was recorded, the instance became active."""

import json
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from controlplane.dashboard.instances.journey.labels import failed_label, heal_label
from controlplane.dashboard.instances.journey.tracks import Tone, Track


def heal_track(heal: Any, *, is_admin: bool) -> Track:
    """Make the track of a heal. Its words and numbers may name hosts, so only admins see them."""
    return Track(
        title=heal_label(heal.kind),
        tone=Tone.WARN,
        outcome=_("by itself"),
        began=heal.created_at,
        ended=heal.created_at,
        causes=(heal.found, heal.done) if is_admin else (),
        evidence=json.dumps(heal.evidence, indent=2, sort_keys=True) if is_admin and heal.evidence else "",
    )


def fault_track(fault: Any) -> Track:
    """Make the track of a failure that no attempt shows."""
    return Track(
        title=failed_label(fault.step),
        tone=Tone.BAD,
        outcome=_("failed"),
        began=fault.created_at,
        ended=fault.created_at,
        causes=(fault.message,),
    )


def active_track(at: datetime) -> Track:
    """Make the last track of a build that succeeded."""
    return Track(title=_("Active"), tone=Tone.GOOD, outcome=_("runs"), began=at, ended=at)
