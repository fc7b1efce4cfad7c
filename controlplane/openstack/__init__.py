"""The wire kit that all OpenStack doors share: routes, microversions, schemas, faults, the order of judging a request.

A door brings its own routes, versions, callers and the shape of its faults.
"""
