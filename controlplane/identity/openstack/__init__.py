"""The Identity API, version 3, as the OpenStack clients call it: tokens, the catalog, projects, users, groups, roles.

A thin layer over identity's services. There is one domain, `default`, and five fixed roles; trusts, federation
by Keystone's own protocol, implied roles and domain-wide roles are absent.
"""
