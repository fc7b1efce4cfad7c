"""What a conductor begins for OVN, where OVN is used."""

import threading

from servers.conf import ovn_options


def ovn_run(stopping: threading.Event) -> None:
    """Tell OVN until `stopping` is set."""
    if ovn_options().ovn_northbound:
        # Here alone: every process reads what conductors begin, and ovsdbapp takes 15 MiB and a tenth of a second.
        from servers.networks.ovn.thread import OvnThread  # noqa: PLC0415

        OvnThread(stopping).run()
