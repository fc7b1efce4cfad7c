"""Links from the admin to the panel's pages about networks. They open for whoever has a role in a project."""

import uuid

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from controlplane.infra.admin.names import NONE
from controlplane.infra.admin.site import ControlPlaneSite


def drawing_link(site: ControlPlaneSite, row: Model) -> SafeString | str:
    """To the drawing on the panel's page of a network or a router."""
    path = site.panel_path(row)
    text = gettext("What hangs on what, drawn in the panel (for whoever has a role in a project)")
    return format_html('<a href="{}">{}</a>', path, text) if path else NONE


def reachability_link(port_id: uuid.UUID) -> SafeString:
    """To the question who can reach this port, and why not."""
    text = gettext("Who can reach it, and why not: asked in the panel (for whoever has a role in a project)")
    return format_html('<a href="{}?to={}">{}</a>', reverse("reachability"), port_id, text)
