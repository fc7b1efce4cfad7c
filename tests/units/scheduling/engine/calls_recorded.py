"""What a policy may name and nobody may call: functions, and classes that are no plug-ins."""

CALLS: list[str] = []


def function() -> None:
    CALLS.append("function")


class NoPlugin:
    def __init__(self) -> None:
        CALLS.append("NoPlugin")


class Instance:
    """Has the methods of all kinds, but the name below is an object, not a class."""

    def __call__(self) -> None:
        CALLS.append("Instance")

    def host_passes(self, host_state: object, spec_obj: object) -> bool:
        return True

    _weigh_object = schedule = host_passes


instance = Instance()
