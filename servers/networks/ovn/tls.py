"""TLS to OVN's northbound database: the files that prove who both sides are, and why a connection came to nothing."""

import socket
import ssl

from ovs.socket_util import inet_parse_active
from ovs.stream import Stream

from servers.conf import OvnOptions

TLS = "ssl:"
ANSWER_S = 5.0


def addresses_of(options: OvnOptions) -> list[str]:
    """Each server of the database, one after the other; several where it is a cluster."""
    return [each.strip() for each in options.ovn_northbound.split(",") if each.strip()]


def tls_use(options: OvnOptions) -> None:
    """Have python-ovs use these files for all its connections of this process that are of kind `ssl:`."""
    if options.ovn_private_key:
        Stream.ssl_set_private_key_file(options.ovn_private_key)
        Stream.ssl_set_certificate_file(options.ovn_certificate)
    if options.ovn_ca_certificate:
        Stream.ssl_set_ca_cert_file(options.ovn_ca_certificate)


def tls_problems(options: OvnOptions) -> list[str]:
    """Why TLS with its servers fails, in words: python-ovs itself has but a number for it. Empty where it works."""
    servers = [each for each in addresses_of(options) if each.startswith(TLS)]
    if not servers:
        return []
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # as python-ovs and Open vSwitch: the authority is this installation's own
        context.load_verify_locations(options.ovn_ca_certificate)
        context.load_cert_chain(options.ovn_certificate, options.ovn_private_key)
    except OSError as error:
        return [f"its certificates cannot be used: {error}"]
    return [f"{each}: {reason}" for each in servers if (reason := _problem(context, each))]


def _problem(context: ssl.SSLContext, server: str) -> str:
    """The server checks our certificate after its own part of the handshake, so something of it is read."""
    host, port = inet_parse_active(server.removeprefix(TLS), 0)
    try:
        with socket.create_connection((host, port), ANSWER_S) as plain, context.wrap_socket(plain) as stream:
            stream.sendall(b'{"method": "list_dbs", "params": [], "id": 0}')
            return "" if stream.recv(1) else "the server closed the connection"
    except OSError as error:
        return str(error)
