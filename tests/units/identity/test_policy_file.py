"""The operator's policy file: its grammar, what is refused and in which words, and that it counts."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.identity.conf import IdentityOptions
from controlplane.identity.domain import Caller, ProjectNeeded, Role
from controlplane.identity.domain.access_rules import DEFAULT_RULES, RuleRoles
from controlplane.identity.domain.policy import allows, require, rules_in_force, rules_replace
from controlplane.identity.domain.policy_file import MAX_BYTES, PolicyFileError, policy_file_read, policy_text_read
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.settings import settings_of

REFUSED = [
    ("networks:wrote: [member]", "no rule networks:wrote"),
    ("networks:write: [owner]", "networks:write names 'owner', which is none of the roles"),
    ("networks:write: ['role:member or user_id:x']", "networks:write names"),
    ("networks:write: member", "networks:write must name a list"),
    ("networks:write: []", "networks:write must name a list"),
    ("networks:write: {any: [member]}", "networks:write must name a list"),
    ("networks:write: [[member]]", "networks:write names"),
    ("a:\n  - b\nnetworks:write: [member]\nnetworks:write: [reader]", "line 4: networks:write stands twice"),
    ("networks:write: [system_reader]", "networks:write must name a role that is enough in a project"),
    ("instances:create: [member, system_reader]", "acts in a project"),
    ("1: [member]", "line 1: 1 is no name of a rule"),
    ("- networks:write", "must be a mapping"),
    ("networks:write: [member", "neither YAML nor JSON"),
    ("networks:write: !!python/object/apply:os.getcwd []", "neither YAML nor JSON"),
]


@pytest.fixture
def table() -> Iterator[None]:
    yield
    rules_replace({})


def of_system(*roles: Role) -> Caller:
    return Caller(uuid.uuid4(), "sam", None, "", frozenset(roles))


def caller(*roles: Role) -> Caller:
    return Caller(uuid.uuid4(), "mary", uuid.uuid4(), "demo", frozenset(roles))


def test_what_is_not_in_the_grammar_is_refused_with_the_line_or_the_rule() -> None:
    for text, words in REFUSED:
        with pytest.raises(PolicyFileError) as refused:
            policy_text_read(text)
        assert words in str(refused.value), text


def test_yaml_and_json_are_read(tmp_path: Path) -> None:
    roles = frozenset({Role.MANAGER, Role.SERVICE})
    both = {"networks:write": RuleRoles(roles, frozenset({Role.ADMIN, Role.SERVICE}))}
    assert policy_text_read("networks:write: [manager, service]") == both
    assert policy_text_read('{"networks:write": ["service", "manager"]}') == both
    assert policy_text_read("# nothing yet\n") == {}
    large = tmp_path / "large.yaml"
    large.write_text("#" * (MAX_BYTES + 1))
    for path in (large, tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(PolicyFileError):
            policy_file_read(path)


def test_the_setting_says_what_is_wrong_when_a_process_starts(tmp_path: Path) -> None:
    setting, path = settings_of(IdentityOptions)["policy_file"], tmp_path / "policy.yaml"
    assert setting.problem("") == ""
    path.write_text("networks:write: [manager]")
    assert setting.problem(str(path)) == ""
    path.write_text("networks:wrote: [manager]")
    assert "there is no rule networks:wrote" in setting.problem(str(path))


def test_what_the_file_says_counts_and_the_rest_stays(table: None) -> None:
    rules_replace(policy_text_read("networks:write: [manager]\ninstances:diagnostics: [reader, service]"))
    assert not allows(caller(Role.MEMBER), "networks:write")
    with pytest.raises(Forbidden) as refused:
        require(caller(Role.MEMBER), "networks:write")
    assert "networks:write needs the role manager" in refused.value.message
    assert allows(caller(Role.MANAGER), "networks:write") and allows(caller(Role.ADMIN), "networks:write")
    assert allows(caller(Role.SERVICE), "instances:diagnostics") and allows(
        caller(Role.READER), "instances:diagnostics"
    )
    changed = {rule.name for rule in rules_in_force() if not rule.is_default}
    assert changed == {"networks:write", "instances:diagnostics"}
    assert [rule.name for rule in rules_in_force()] == list(DEFAULT_RULES)


def test_readers_of_the_system_keep_a_changed_rule_where_the_file_names_them(table: None) -> None:
    rules_replace(policy_text_read("hosts:read: [manager]\ncells:read: [manager, system_reader]\nwork:read: [service]"))
    reader, admin = of_system(Role.READER), of_system(Role.ADMIN)
    asked = ("hosts:read", "cells:read", "work:read", "drift:read")
    assert [allows(reader, one) for one in asked] == [False, True, False, True]
    assert [allows(admin, one) for one in asked] == [True, True, False, True]
    assert allows(of_system(Role.SERVICE), "work:read")


def test_what_acts_in_a_project_is_refused_to_persons_of_the_system_with_that_reason() -> None:
    for role in Role:
        with pytest.raises(ProjectNeeded) as refused:
            require(of_system(role), "instances:create")
        assert refused.value.code == "project_needed"
    with pytest.raises(ProjectNeeded):
        _ = of_system(Role.ADMIN).project_id
    with pytest.raises(Forbidden) as lacking:
        require(of_system(Role.READER), "hosts:write")
    assert "sam has reader in the system" in lacking.value.message and lacking.value.code != "project_needed"
    assert of_system(Role.READER).sees_all and not of_system(Role.SERVICE).sees_all
    assert not caller(Role.READER).sees_all
