"""Reading application credentials."""

import uuid

from django.db.models import QuerySet

from controlplane.identity.models import ApplicationCredential
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _


def application_credentials_of(*, user_id: uuid.UUID) -> QuerySet[ApplicationCredential]:
    """A user's, by name, each with its project; those that have expired too."""
    return ApplicationCredential.objects.select_related("project").filter(user_id=user_id).order_by("name")


def application_credential_get(*, user_id: uuid.UUID, credential_id: uuid.UUID) -> ApplicationCredential:
    """One of a user's. Raises NotFound."""
    found = application_credentials_of(user_id=user_id).filter(pk=credential_id).first()
    if found is None:
        raise NotFound(_("Application credential {credential_id} does not exist.", credential_id=credential_id))
    return found
