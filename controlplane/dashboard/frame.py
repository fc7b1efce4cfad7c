"""What the frame around every page shows: who one is, and the projects one may work in."""

from typing import Any

from django.http import HttpRequest

from controlplane.identity.api.callers import caller_of
from controlplane.identity.selectors.own_projects import own_projects_offered
from controlplane.kernel.errors import Forbidden


def frame(request: HttpRequest) -> dict[str, Any]:
    """Caller and projects; nothing for somebody who is not logged in, no caller for one without any role."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    projects = own_projects_offered(user=user)
    try:
        return {"caller": caller_of(request), "projects": projects}
    except Forbidden:
        return {"projects": projects}
