"""People of an LDAP directory: who has this password, and who of them is still there.

A person is looked up by the name, as the service account or as nobody, and the password is tried by binding as the
entry that was found. A directory that did not answer is left alone for some seconds by this process, so that a dead
one does not take the threads of the web server.
"""

import contextlib
import logging
import ssl
import time
from collections.abc import Collection, Iterator
from typing import Any

import ldap3
from ldap3.core.exceptions import LDAPException
from ldap3.utils.conv import escape_bytes, escape_filter_chars

from controlplane.identity.conf import LdapOptions, ldap_options
from controlplane.identity.domain import DirectoryUnavailable
from controlplane.identity.domain.outside import OutsidePerson, Source

log = logging.getLogger(__name__)
ISSUER = "directory"
"""An installation has one directory, whichever of its servers answers and below which entry its people are."""
LEFT_ALONE_S = 10.0
OK, NO_SUCH_OBJECT, INVALID_CREDENTIALS = 0, 32, 49
REFUSALS = frozenset({INVALID_CREDENTIALS, NO_SUCH_OBJECT, 19, 48, 50, 53})
"""Answers to a bind that are about the person: also constraintViolation, inappropriateAuthentication,
insufficientAccessRights and unwillingToPerform, by which directories say that an account is locked."""
BINARY = "hex:"
"""Before an id that is no text, such as Active Directory's objectGUID."""

_left_alone_until: dict[tuple[str, ...], float] = {}


def ldap_person(*, username: str, password: str) -> OutsidePerson | None:
    """The person with this name and password; None where there is none. Raises DirectoryUnavailable.

    An empty password is wrong: directories take a bind without one for a bind as nobody, which succeeds.
    """
    if not password or not username:
        return None
    options = ldap_options()
    with _directory(options) as connection:
        entries = _entries(connection, options, escape_filter_chars(username))
        if len(entries) != 1:
            return None
        if not _password_is(options, connection.server, entries[0]["dn"], password):
            return None
        return _person(connection, options, entries[0])


def ldap_people(subjects: Collection[str]) -> dict[str, OutsidePerson]:
    """Those of the people with these ids who are still there, and may log in, by id. Raises DirectoryUnavailable."""
    options = ldap_options()
    found = {}
    with _directory(options) as connection:
        for subject in subjects:
            entries = _entries(connection, options, "*", subject=subject)
            if len(entries) == 1:
                found[subject] = _person(connection, options, entries[0])
    return found


@contextlib.contextmanager
def _directory(options: LdapOptions) -> Iterator[Any]:
    """A connection that looks people up, to the first server that answers. Failures inside are the directory's."""
    if time.monotonic() < _left_alone_until.get(options.ldap_url, 0.0):
        raise DirectoryUnavailable
    try:
        connection = _first_that_answers(options)
        try:
            yield connection
        finally:
            connection.unbind()
    except (LDAPException, OSError, ssl.SSLError) as error:
        log.warning("the directory failed: %s", error)
        _left_alone_until[options.ldap_url] = time.monotonic() + LEFT_ALONE_S
        raise DirectoryUnavailable from error


def _first_that_answers(options: LdapOptions) -> Any:
    last: Exception = OSError("no server is set")
    for url in options.ldap_url:
        try:
            connection = _open(options, _server(url, options), options.ldap_bind_dn, options.ldap_bind_password)
            if not connection.bind():
                raise LDAPException(f"{url} refuses LDAP_BIND_DN: {connection.result['description']}")
        except (LDAPException, OSError) as error:
            last = error
        else:
            return connection
    raise last


def _server(url: str, options: LdapOptions) -> Any:
    tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=options.ldap_ca_file or None)
    return ldap3.Server(url, tls=tls, connect_timeout=options.ldap_timeout_s, get_info=ldap3.NONE)


def _open(options: LdapOptions, server: Any, name: str, password: str) -> Any:
    """Connected, and encrypted where that is wanted; not yet bound, so that no password goes over a plain line."""
    connection = ldap3.Connection(
        server,
        user=name or None,
        password=password or None,
        authentication=ldap3.SIMPLE if name else ldap3.ANONYMOUS,
        receive_timeout=options.ldap_timeout_s,
        auto_referrals=False,
        read_only=True,
        # What a filter or an attribute is called is the operator's business; the server says what it knows.
        check_names=False,
    )
    connection.open()
    if options.ldap_start_tls and not server.ssl and not connection.start_tls():
        raise LDAPException("the server refuses StartTLS")
    return connection


def _password_is(options: LdapOptions, server: Any, name: str, password: str) -> bool:
    connection = _open(options, server, name, password)
    try:
        if connection.bind():
            return True
        if connection.result["result"] in REFUSALS:
            return False
        raise LDAPException(connection.result["description"])
    finally:
        connection.unbind()


def _entries(connection: Any, options: LdapOptions, username: str, *, subject: str = "") -> list[Any]:
    """Entries that the filter for people allows, two at most: where a name is not unique, it is nobody's."""
    query = options.ldap_user_filter.replace("{username}", username)
    if subject:
        query = f"(&({options.ldap_id_attribute}={_as_filter(subject)}){query})"
    names = [options.ldap_username_attribute, options.ldap_email_attribute, options.ldap_id_attribute]
    return _search(connection, options.ldap_user_base, query, names, size_limit=2)


def _search(connection: Any, base: str, query: str, names: list[str], *, size_limit: int = 0) -> list[Any]:
    connection.search(base, query, attributes=names, size_limit=size_limit)
    if connection.result["result"] not in {OK, 4}:  # 4: there are more than the limit
        raise LDAPException(f"{connection.result['description']} for {query} below {base!r}")
    return [entry for entry in connection.response or [] if entry["type"] == "searchResEntry"]


def _person(connection: Any, options: LdapOptions, entry: Any) -> OutsidePerson:
    username = _text(entry, options.ldap_username_attribute)
    subject = _id_text(_first(entry, options.ldap_id_attribute))
    if not username or not subject:
        raise LDAPException(f"{entry['dn']} lacks {options.ldap_username_attribute} or {options.ldap_id_attribute}")
    groups = _groups(connection, options, entry["dn"], username)
    email = _text(entry, options.ldap_email_attribute)
    return OutsidePerson(Source.LDAP, ISSUER, subject, username, email, groups)


def _groups(connection: Any, options: LdapOptions, name: str, username: str) -> frozenset[str]:
    if not options.ldap_group_base:
        return frozenset()
    query = options.ldap_group_filter.replace("{dn}", escape_filter_chars(name))
    query = query.replace("{username}", escape_filter_chars(username))
    named = options.ldap_group_name_attribute
    return frozenset(_text(one, named) for one in _search(connection, options.ldap_group_base, query, [named]))


def _first(entry: Any, attribute: str) -> bytes:
    values = entry["raw_attributes"].get(attribute) or [b""]
    value: bytes = values[0]
    return value


def _text(entry: Any, attribute: str) -> str:
    return _first(entry, attribute).decode("utf-8", "replace")


def _id_text(raw: bytes) -> str:
    return raw.decode("ascii") if raw.isascii() and raw.decode("ascii").isprintable() else BINARY + raw.hex()


def _as_filter(subject: str) -> str:
    if subject.startswith(BINARY):
        return str(escape_bytes(bytes.fromhex(subject.removeprefix(BINARY))))
    return str(escape_filter_chars(subject))
