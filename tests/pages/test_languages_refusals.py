# ruff: noqa: RUF001 - Chinese has punctuation of its own
"""Refusals, faults, help texts and meanings of settings are Chinese on pages and in the admin; the API says English."""

from collections.abc import Callable

from django.test import Client
from django.utils.translation import override

from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from controlplane.infra.reader_texts import said
from servers.models import InstanceFault, VolumeType
from tests.worlds.cloud import People, active

CHINESE = {"accept-language": "zh-CN,zh;q=0.9"}
STORED = {
    "No host is left after 2 of 3 attempts: The host could not do it (spawn, step spawn).": (
        "在 3 次尝试中的 2 次之后没有剩下主机：主机未能完成（spawn，步骤 spawn）。"
    ),
    "The instance is locked by ann (mine); unlock it first.": "实例被 ann 锁定 (mine)；请先解锁。",
    "Host h1 is not removed. It is up and takes new instances: disable it, or stop its agent, first. 1 instance is on "
    "it (web).": "没有移除主机 h1。它在线并接收新实例：请先禁用它，或停止其代理。有 1 个实例在它上面（web）。",
    "Volume a is in-use: it must be available for this.": "卷 a 是 in-use：为此必须是 available。",
    "Over quota": "超出配额",
    "what a person wrote": "what a person wrote",
}


def test_what_was_stored_is_read_back_by_its_templates() -> None:
    for stored, chinese in STORED.items():
        assert said(stored) == stored
        with override("zh-hans"):
            assert said(stored) == chinese


def test_refusals_are_chinese_to_people_and_english_to_programs(
    people: People, as_person: Callable[[Caller], Client]
) -> None:
    instance, default = active(people.member, "web"), VolumeType.objects.create(name="plain", is_default=True)
    InstanceFault.objects.create(instance_uuid=instance.pk, message=next(iter(STORED)), step="spawn")
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True, is_superuser=True)
    admin, it = as_person(people.admin), f"/instances/{instance.pk}/"

    form = admin.post("/keypairs/new/", {"name": "mine", "public_key": "ssh-new AAAA"}, headers=CHINESE)
    toast = admin.post(f"{it}act/", {"action": "start"}, headers=CHINESE, follow=True)
    gone = admin.get("/volumes/6c07f5cc-7ae1-4f2e-8b6f-6ffbb5f2a2d0/", headers=CHINESE)
    deletion = admin.post(
        f"/admin/servers/volumetype/{default.pk}/delete/", {"post": "yes"}, headers=CHINESE, follow=True
    )
    helped = admin.get(f"/admin/servers/volumetype/{default.pk}/change/", headers=CHINESE)
    settings = admin.get("/settings/", headers=CHINESE)
    shown = {
        "form": (form, "不认识密钥类型"),
        "toast": (toast, "实例是 active；start 需要"),
        "refusal": (gone, "卷 6c07f5cc-7ae1-4f2e-8b6f-6ffbb5f2a2d0 不存在。"),
        "fault": (admin.get(it, headers=CHINESE), "在 3 次尝试中的 2 次之后没有剩下主机"),
        "admin": (deletion, "卷类型 plain 是默认类型：请先把另一个设为默认。"),
        "help": (helped, "未指定类型的卷得到此类型。"),
        "settings": (settings, "一个 Web 进程最多持有的打开的控制台数。"),
    }
    assert {name: text for name, (page, text) in shown.items() if text not in page.text} == {}

    asked = {
        "The instance is active; start needs": admin.post(
            f"/api{it}actions/", {"action": "start"}, headers=CHINESE, content_type="application/json"
        ),
        "Volume type plain is the default: make another one the default first.": admin.delete(
            f"/api/volume-types/{default.pk}/", headers=CHINESE
        ),
    }
    assert {text: answer.text for text, answer in asked.items() if text not in answer.text} == {}
    assert VolumeType.objects.filter(pk=default.pk).exists()
