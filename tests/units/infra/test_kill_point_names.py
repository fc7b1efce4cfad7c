"""How the end of a transaction gets its name."""

import sys
from contextlib import ContextDecorator

from controlplane.infra.kill_points import current_function


class Block(ContextDecorator):
    """As Django's atomic: asked for the name when it is left."""

    name = ""

    def __enter__(self) -> "Block":
        return self

    def __exit__(self, *_details: object) -> None:
        Block.name = current_function(sys._getframe(0))


def _of_house(body: str) -> str:
    """Run `body` as the function `service` of a module of a house, and give the name found on the way out."""
    exec(body, {"__name__": "servers.services.made_up", "Block": Block})  # noqa: S102 - text of the test
    return Block.name


def test_block_is_named_after_the_function_around_it() -> None:
    name = _of_house("def service():\n    with Block():\n        pass\nservice()")
    assert name == "servers.services.made_up.service"


def test_decorated_function_gives_its_name_though_it_has_returned() -> None:
    name = _of_house("@Block()\ndef service():\n    pass\nservice()")
    assert name == "servers.services.made_up.service"


def test_frames_of_nobody_we_know_are_called_other() -> None:
    assert current_function(sys._getframe(0)) == "other"
