"""What the schemas of all doors take for what."""

import gc

from jsonschema import Draft7Validator

from controlplane.launcher.openstack_doors import DOORS
from controlplane.openstack.openapi.document import openapi_document
from controlplane.openstack.schemas import CompiledSchema, SchemaVersions, StandardSchema


def test_an_integer_is_one_that_a_column_holds_and_no_float() -> None:
    schema = CompiledSchema({"type": "integer"})
    for value in (0, -1, 2**63 - 1):
        assert schema.complaint(value) is None, value
    for value in (1.0, 1e26, 2**63, 2**64 - 1, True, "1", None):
        assert schema.complaint(value) is not None, value


def test_standard_integers_are_whole_numbers_of_any_size() -> None:
    schema = StandardSchema({"type": "integer"})
    for value in (0, 1.0, 1e26, 2**64, -(2**70)):
        assert schema.complaint(value) is None, value
    for value in (1.5, True, "1", None):
        assert schema.complaint(value) is not None, value


def test_the_newest_schema_that_a_version_has_counts() -> None:
    old, new = CompiledSchema({"const": "old"}), CompiledSchema({"const": "new"})
    versions = SchemaVersions((7, new), (2, old))
    assert [versions.at(minor) for minor in (2, 6, 7, 9)] == [old, old, new, new]
    assert versions.body_schema(1) is None


def test_each_schema_of_the_doors_is_one() -> None:
    for door in DOORS.values():
        for minor in range(door.versions.min_minor, door.versions.max_minor + 1) if door.versions else [None]:
            openapi_document(door, minor=minor)  # some are compiled when a version is asked for
    compiled = [one for one in gc.get_objects() if issubclass(type(one), CompiledSchema)]  # proxies may be dead

    assert len(compiled) > 190
    for one in compiled:
        Draft7Validator.check_schema(one.schema)
