"""An instance that has no row yet, built from its build request."""

from servers.instances.domain.bodies import InstanceBody
from servers.models import BuildRequest, Instance


def instance_from_body(body: InstanceBody) -> Instance:
    """The unsaved instance that a build request describes."""
    instance = Instance(**body.columns())
    instance.known_tags = list(body.tags)
    return instance


def pending_instance(request: BuildRequest) -> Instance:
    """The instance as the API shows it until its row exists."""
    body = request.typed_body
    instance = instance_from_body(body)
    instance.is_pending = True
    instance.created_at = body.created_at or request.created_at
    instance.updated_at = request.created_at
    return instance
