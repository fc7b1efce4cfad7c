"""Whether the people of the directory are still there, and in which groups: looked up now and then.

Without it somebody who was removed there would keep sessions and tokens until they expire by themselves.
"""

import logging

from controlplane.identity.conf import ldap_options
from controlplane.identity.domain import DirectoryUnavailable
from controlplane.identity.domain.outside import Source
from controlplane.identity.models import ExternalIdentity
from controlplane.identity.services.outsiders import groups_follow, outsider_end

log = logging.getLogger(__name__)
MANY = 5
"""Of how many people not all may vanish at once: that is a directory whose base or rights were changed."""


def directory_sync() -> None:
    """One round over all active users of the directory. A directory that does not answer changes nothing."""
    if not ldap_options().ldap_url:
        return
    from controlplane.identity.outside.ldap_directory import ISSUER, ldap_people  # noqa: PLC0415 - as in logins

    rows = ExternalIdentity.objects.filter(source=Source.LDAP, issuer=ISSUER, user__is_active=True)
    known = {one.subject: one for one in rows.select_related("user")}
    try:
        found = ldap_people(known) if known else {}
    except DirectoryUnavailable:
        return
    if not found and len(known) >= MANY:
        log.warning("the directory has none of %d people any more: nobody is switched off", len(known))
        return
    for subject, identity in known.items():
        if subject in found:
            groups_follow(identity, found[subject])
        elif outsider_end(identity.pk):
            log.info("%s is no longer in the directory and was switched off", identity.user.username)
