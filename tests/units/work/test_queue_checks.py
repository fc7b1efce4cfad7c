"""The queue's settings: those that ship are right, and each wrong one is told by its rule."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from controlplane.settings.base import database
from controlplane.work.checks import DEPLOY_RULES, RULES, QueueSettings, queue_problems, queue_settings

ALL = (*RULES, *DEPLOY_RULES)
POSTGRES = {"ENGINE": "django.db.backends.postgresql", "NAME": "kilonova", "CONN_MAX_AGE": None, "OPTIONS": {}}
GOOD = QueueSettings(
    cluster=dict(settings.Q_CLUSTER), redis_url="", database=POSTGRES, ours={**settings.KILONOVA, "LEASE_S": 30.0}
)
CLUSTER: list[tuple[str, dict[str, Any], str]] = [
    ("queue.E001", {"name": ""}, "Q_CLUSTER['name']"),
    ("queue.E002", {"ALT_CLUSTERS": None}, "Q_CLUSTER['ALT_CLUSTERS']"),
    ("queue.E003", {"cluster_name": "compute.h1"}, "Q_CLUSTER['cluster_name']"),
    ("queue.E004", {"broker_class": "django_q.brokers.orm.ORM"}, "Q_CLUSTER['broker_class']"),
    ("queue.E004", {"broker_class": None}, "Q_CLUSTER['broker_class']"),
    ("queue.E005", {"workers": 0}, "Q_CLUSTER['workers']"),
    ("queue.E006", {"timeout": None}, "Q_CLUSTER['timeout']"),
    ("queue.E007", {"retry": 300}, "Q_CLUSTER['retry']"),
    ("queue.E008", {"ack_failures": False}, "Q_CLUSTER['ack_failures']"),
    ("queue.E009", {"max_attempts": 0}, "Q_CLUSTER['max_attempts']"),
    ("queue.E010", {"queue_limit": 0}, "Q_CLUSTER['queue_limit']"),
    ("queue.E010", {"queue_limit": 9, "retry": 10_000}, "Q_CLUSTER['queue_limit']"),
    ("queue.E011", {"guard_cycle": 0.7}, "Q_CLUSTER['guard_cycle']"),
    ("queue.E011", {"guard_cycle": 30}, "Q_CLUSTER['guard_cycle']"),
    ("queue.E012", {"scheduler": True}, "Q_CLUSTER['scheduler']"),
    ("queue.E013", {"sync": True}, "Q_CLUSTER['sync']"),
    ("queue.E014", {"recycle": 0}, "Q_CLUSTER['recycle']"),
    ("queue.W001", {"save_limit": 250}, "Q_CLUSTER['save_limit']"),
    ("queue.W002", {"poll": 0.2}, "Q_CLUSTER['poll']"),
    ("queue.W003", {"redis": {"host": "localhost"}}, "Q_CLUSTER['redis']"),
]
DATABASE: list[tuple[str, dict[str, Any], str]] = [
    ("queue.E016", {**POSTGRES, "ENGINE": "django.db.backends.mysql"}, "DATABASE_URL"),
    ("queue.E017", {**POSTGRES, "OPTIONS": {"pool": True}}, "pool"),
    ("queue.E018", {**POSTGRES, "ENGINE": "controlplane.infra.sqlite3"}, "transaction_mode IMMEDIATE"),
    ("queue.W004", {**POSTGRES, "CONN_MAX_AGE": 0}, "CONN_MAX_AGE"),
    ("queue.W005", {**POSTGRES, "DISABLE_SERVER_SIDE_CURSORS": True}, "LISTEN"),
]
OURS: list[tuple[str, dict[str, float], str]] = [
    ("queue.E019", {"LEASE_S": 10.0, "REPORT_INTERVAL_S": 10.0}, "LEASE_S"),
    ("queue.E020", {"LEASE_S": 60.0, "BUILD_DEADLINE_S": 30.0}, "BUILD_DEADLINE_S"),
    ("queue.E021", {"RECONCILE_INTERVAL_S": 45.0}, "RECONCILE_INTERVAL_S"),
    ("queue.E022", {"NOTIFICATION_TIMEOUT_S": 10.0, "NOTIFICATION_DEADLINE_S": 5.0}, "NOTIFICATION_DEADLINE_S"),
]
REDIS = ["localhost:6379", "http://localhost", "redis://", "unix://"]


def _found(queue: QueueSettings) -> dict[str | None, str]:
    return {problem.id: problem.msg for problem in queue_problems(queue, ALL)}


def _cluster_with(changes: Mapping[str, Any]) -> QueueSettings:
    return replace(GOOD, cluster={**GOOD.cluster, **changes})


def test_settings_that_ship_have_no_problem() -> None:
    assert _found(GOOD) == {}


def test_settings_of_this_process_have_no_problem() -> None:
    assert queue_problems(queue_settings(), RULES) == []


@pytest.mark.parametrize(("rule", "changes", "named"), CLUSTER)
def test_wrong_cluster_option_is_told_by_its_rule_alone(rule: str, changes: dict[str, Any], named: str) -> None:
    found_by_check = _found(_cluster_with(changes))
    assert list(found_by_check) == [rule]
    assert named in found_by_check[rule]


@pytest.mark.parametrize(("rule", "given", "named"), DATABASE)
def test_wrong_database_option_is_told_by_its_rule_alone(rule: str, given: dict[str, Any], named: str) -> None:
    found_by_check = _found(replace(GOOD, database=given))
    assert list(found_by_check) == [rule]
    assert named in found_by_check[rule]


@pytest.mark.parametrize(("rule", "changes", "named"), OURS)
def test_wrong_interval_is_told_by_its_rule_alone(rule: str, changes: dict[str, float], named: str) -> None:
    found_by_check = _found(replace(GOOD, ours={**GOOD.ours, **changes}))
    assert list(found_by_check) == [rule]
    assert named in found_by_check[rule]


@pytest.mark.parametrize("url", REDIS)
def test_redis_url_that_leads_nowhere_is_told(url: str) -> None:
    assert list(_found(replace(GOOD, redis_url=url))) == ["queue.E015"]


@pytest.mark.parametrize("url", ["redis://127.0.0.1:6379/0", "rediss://:secret@cache/1", "unix:///run/redis.sock"])
def test_redis_url_of_a_server_has_no_problem(url: str) -> None:
    assert _found(replace(GOOD, redis_url=url)) == {}


def test_sqlite_file_as_the_settings_open_it_has_no_problem() -> None:
    assert _found(replace(GOOD, database=database("sqlite:////srv/kilonova.sqlite3"))) == {}


def test_pooler_in_transaction_mode_beside_redis_has_no_problem() -> None:
    given = {**POSTGRES, "DISABLE_SERVER_SIDE_CURSORS": True}
    assert _found(replace(GOOD, database=given, redis_url="redis://cache/0")) == {}


def test_retry_too_low_is_told_with_the_least_that_does() -> None:
    (problem,) = queue_problems(_cluster_with({"workers": 1, "retry": 600}), RULES)
    assert problem.hint == "Write 'retry': 900 or more."


def test_every_rule_has_an_id_of_its_own_and_a_case_here() -> None:
    ids = [rule.id for rule in ALL]
    assert len(set(ids)) == len(ids)
    assert set(ids) == {case[0] for case in (*CLUSTER, *DATABASE, *OURS)} | {"queue.E015"}
