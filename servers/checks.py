"""System checks: settings of the image store that cannot work together. They open no connection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error

from servers.conf import S3, ServerOptions, server_options
from servers.images.stores.chosen import s3_problems


def image_store_problems(options: ServerOptions) -> list[CheckMessage]:
    """What is missing for the store that IMAGE_STORE names."""
    if options.image_store != S3:
        return []
    hint = "Set it in the environment, or IMAGE_STORE=directory."
    problems: list[CheckMessage] = [Error(text, hint=hint, id="servers.E001") for text in s3_problems(options)]
    if options.image_s3_ca_file and not Path(options.image_s3_ca_file).is_file():
        problems.append(Error("IMAGE_S3_CA_FILE names no file that is there.", id="servers.E002"))
    if options.image_s3_endpoint.startswith("http://") and options.image_s3_secret_access_key:
        problems.append(
            checks.Warning(
                "IMAGE_S3_ENDPOINT is not encrypted: images can be read and altered on their way.", id="servers.W001"
            )
        )
    return problems


def check_image_store(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return image_store_problems(server_options())


def register_all() -> None:
    """Called once by the app config."""
    checks.register(check_image_store, "servers")
