"""The Network API as Neutron's clients call it, over the services of networks that `/api/` and the pages call.

A field of Neutron's that nothing here honours is refused by its name, so that nobody believes it was taken; a value
that says what is done anyway is accepted.
"""
