"""`clouds.yaml`: where this installation is, as OpenStack's clients read it."""

from typing import Any
from uuid import UUID

import yaml

from controlplane.identity.openstack.call import DOMAIN_NAME
from controlplane.identity.openstack.catalog import REGION

CLOUD = "kilonova"
FILE_NAME = "clouds.yaml"


def clouds_yaml(*, base: str, username: str, project: str) -> str:
    """The file for a person in a project. `base`: scheme, host and prefix, without a slash at its end.

    It has no password: the `openstack` command asks for it, or takes it from OS_PASSWORD; programs that use
    openstacksdk read it from a `secure.yaml` beside the file.
    """
    cloud = {
        "auth": {
            "auth_url": f"{base}/identity/v3",
            "username": username,
            "project_name": project,
            "user_domain_name": DOMAIN_NAME,
            "project_domain_name": DOMAIN_NAME,
        },
        "region_name": REGION,
        "identity_api_version": "3",
    }
    return _text(cloud)


def credential_clouds_yaml(*, base: str, credential_id: UUID, secret: str) -> str:
    """The file for a program with an application credential. It holds the secret: whoever reads it may log in."""
    auth = {
        "auth_url": f"{base}/identity/v3",
        "application_credential_id": credential_id.hex,
        "application_credential_secret": secret,
    }
    return _text(
        {"auth_type": "v3applicationcredential", "auth": auth, "region_name": REGION, "identity_api_version": "3"}
    )


def _text(cloud: dict[str, Any]) -> str:
    return yaml.safe_dump({"clouds": {CLOUD: cloud}}, sort_keys=False, allow_unicode=True)
