"""The caller, as plug-ins written for Nova expect it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What of Nova's request context there is here. It grants nothing: plug-ins are our own process."""

    project_id: str = ""
    user_id: str = ""
    request_id: str = ""
    is_admin: bool = False

    def elevated(self) -> "RequestContext":
        """The same context with the rights of an administrator."""
        return replace(self, is_admin=True)
