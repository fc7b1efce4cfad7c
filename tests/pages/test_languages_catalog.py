"""Pages of catalog, aggregates, providers and identity, and the Django admin, for somebody who reads Chinese."""

import html
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.admin import site
from django.template.loader import render_to_string
from django.test import Client
from django.utils.translation import gettext, override

from computeagent.protocol.guest_machine import machine_complaints
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from controlplane.infra.reader_texts import said
from placement.domain import InventorySpec, ProviderKind, TraitOwner
from placement.models import Inventory
from placement.services import inventory_put, provider_ensure, provider_traits_set
from scheduling.fleet.services.aggregates import aggregate_create_whole
from scheduling.models import ComputeNode
from servers.catalog.domain.extra_specs.table import EXTRA_SPEC_RULES
from servers.catalog.services.server_group import server_group_create
from servers.instances.domain.not_provided import FLAVOR_KEYS, IMAGE_KEYS
from servers.models import Flavor
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]
CHINESE = {"accept-language": "zh-CN"}
NFS = uuid.UUID(int=12)
SPELLED_SO = {"Webhook", "ID", "MTU", "URL"}
EMPTY_LISTS = (
    "catalog/flavor_list_empty.html",
    "catalog/keypair_list_empty.html",
    "catalog/server_group_list_empty.html",
    "identity/project_list_empty.html",
    "identity/user_list_empty.html",
    "providers/provider_list_empty.html",
)
# Names, values and commands; and what stands at the foot of many pages, by templates of its own.
NO_TEXT = re.compile(
    r"<(script|style|svg|code|pre|textarea|option)\b.*?</\1>|<(\w+)[^>]*class=\"[^\"]*\b(?:mono|name|in-admin)\b[^\"]*\".*?</\2>"
    r"|<section[^>]*id=\"history\".*?</section>|<details[^>]*id=\"as-curl\".*?</details>",
    re.DOTALL,
)
SPOKEN = re.compile(r'(?:aria-label|title|placeholder)="([^"]*)"')
SENTENCE = re.compile(r"[A-Za-z][A-Za-z']*(?: [A-Za-z']+){2,}")


def english(page: str) -> set[str]:
    """English of three words and more, in what a page shows and in what is said of its parts."""
    main = NO_TEXT.sub("<>", page.partition("<main")[2].partition("</main>")[0] or page)
    texts = (*SPOKEN.findall(main), *re.split(r"<[^>]*>", main))
    return {one for text in texts for one in SENTENCE.findall(html.unescape(text))}


def paths(people: People) -> Iterator[str]:
    """Pages of one thing and forms, each at its fullest."""
    flavor = Flavor.objects.get()
    aggregate = aggregate_create_whole(name="rack", metadata={"availability_zone": "az1", "ssd": "true"}, hosts=["h1"])
    group = server_group_create(caller=people.admin, name="apart", policy="anti-affinity", rules={})
    provider_ensure(NFS, "nfs-share", kind=ProviderKind.OTHER)
    inventory_put(NFS, "DISK_GB", InventorySpec(5000, reserved=100, max_unit=10))
    provider_traits_set(NFS, {"CUSTOM_FAST"}, owner=TraitOwner.OPERATOR)
    yield from (f"/flavors/{flavor.pk}/{end}" for end in ("", "?room=1", "edit/"))
    yield from (f"/aggregates/{aggregate.pk}/{end}" for end in ("", "edit/", "images/"))
    yield from (f"/projects/{people.member.project_id}/{end}" for end in ("", "edit/"))
    yield from (f"/users/{people.member.user_id}/{end}" for end in ("", "edit/"))
    yield from (f"/account/{end}" for end in ("", "password/", "second-factor/", "application-credentials/"))
    yield from (f"/{one}/new/" for one in ("flavors", "keypairs", "server-groups", "aggregates", "projects", "users"))
    yield from (f"/server-groups/{group.pk}/", f"/providers/{NFS}/", f"/providers/{ComputeNode.objects.all()[0].pk}/")
    yield from ("/admin/", "/admin/servers/flavor/", "/admin/placement/inventory/", "/admin/identity/token/")


def test_pages_have_no_english_left(people: People, as_person: AsPerson) -> None:
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True, is_superuser=True)
    client = as_person(people.admin)
    left: dict[str, set[str]] = {}
    for path in paths(people):
        answer = client.get(path, headers=CHINESE)
        assert answer.status_code == 200, path
        left[path] = english(answer.text)
    draft = {"name": "row", "zone": "az2", "spec_key": "ssd", "spec_value": "no", "host": "h2", "shown": "h1\nh2"}
    left["effect"] = english(client.post("/aggregates/new/", {**draft, "do": "effect"}, headers=CHINESE).text)
    inventory = Inventory.objects.get(provider__uuid=NFS)
    stated = {"total": 9, "reserved": 0, "min_unit": 1, "max_unit": 5, "step_size": 1, "allocation_ratio": 1}
    admin_page = f"/admin/placement/inventory/{inventory.pk}/change/"
    left["inventory"] = english(client.post(admin_page, stated, headers=CHINESE).text)
    with override("zh-hans"):
        for name in EMPTY_LISTS:
            left[name] = english(render_to_string(f"dashboard/{name}", {"caller": people.admin}))
    assert {path: texts for path, texts in left.items() if texts} == {}


def test_names_of_the_admin_and_of_extra_specs_are_translated() -> None:
    with override("zh-hans"):
        names = {str(name): model for model in site._registry for name in _names(model)}
        texts = [text for rule in EXTRA_SPEC_RULES for text in (gettext(rule.meaning), rule.allowed.sentence(gettext))]
    assert [(model, name) for name, model in names.items() if name.isascii() and name not in SPELLED_SO] == []
    assert [text for text in texts if text.isascii()] == []


def test_why_a_machine_or_a_key_is_refused_is_translated() -> None:
    machine = [
        *machine_complaints({"os:secure_boot": "required"}, {"hw_firmware_stateless": "yes"}),
        *machine_complaints(
            {"os:secure_boot": "required", "hw:viommu_model": "intel", "hw:maxphysaddr_mode": "emulate"},
            {"hw_machine_type": "pc", "hw_firmware_type": "uefi", "hw_firmware_stateless": "yes"},
        ),
        *machine_complaints(
            {"hw:maxphysaddr_bits": "40", "hw:usb_model": "none"},
            {"hw_machine_type": "q35", "hw_disk_bus": "ide", "hw_cdrom_bus": "usb"},
        ),
    ]
    assert len(machine) == 9
    whys = [rule.why for rule in (*FLAVOR_KEYS, *IMAGE_KEYS)]
    with override("zh-hans"):
        assert [text for text in (*machine, *whys) if said(text).isascii()] == []


def _names(model: Any) -> tuple[object, ...]:
    meta = model._meta
    labels = [field.verbose_name for field in (*meta.local_fields, *meta.local_many_to_many)]
    return meta.verbose_name, meta.verbose_name_plural, *labels
