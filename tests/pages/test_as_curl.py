"""Every page and form that says how the API does the same tells the truth, and no secret."""

import json
import re
import shlex
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.http import Http404
from django.test import Client
from django.urls import get_resolver, resolve
from rest_framework.views import APIView

from controlplane.dashboard.api_calls.calls import HIDDEN, ApiCall
from controlplane.dashboard.api_calls.form_calls import FORM_CALLS, form_calls
from controlplane.dashboard.api_calls.page_calls import BESIDES, BESIDES_OF_ADMINS, LISTS, THINGS
from controlplane.identity.domain import Caller
from servers.models import Flavor, Image, Volume
from tests.architecture.test_inputs import INPUTS
from tests.worlds.cloud import People, active, client_of
from tests.worlds.routing import inside
from tests.worlds.volumes import storage_pool, volume_made

AsPerson = Callable[[Caller], Client]
ID = "00000000-0000-0000-0000-00000000000a"
KWARGS = dict.fromkeys(re.findall(r"\{(\w+)\}", " ".join([*LISTS.values(), *THINGS.values()])), ID)
KWARGS |= {f"{one}_id": ID for one in ("instance", "flavor", "network", "router", "group", "volume", "project", "user")}
KWARGS |= {f"{one}_id": ID for one in ("subnet", "port", "floating_ip", "image", "snapshot", "backup")}
FILLED = {
    "name": ["x"], "description": ["y"], "cidr": ["10.1.0.0/24"], "gateway": ["-"], "dns_servers": ["9.9.9.9"],
    "metadata": ["a = b"], "tags": ["a, b"], "spec_key": ["k"], "spec_value": ["v"], "source": [f"image:{ID}"],
    "max_server_per_host": ["2"], "policy": ["affinity"], "public_key": ["ssh"], "size_gib": ["3"], "mtu": ["1500"],
    "user_data": ["#!/bin/sh\r\n"], "group": [ID], "networks": [ID], "security_groups": [ID], "image": [ID],
    "without_config_drive": ["on"], "boot_from": ["new"], "flavor": [ID], "min_count": ["2"], "vcpus": ["1"],
    "network": [ID], "mac": ["52:54:00:00:00:01"], "fixed_addresses": ["10.1.0.7\n10.1.0.0/24"],
    "allowed_pairs": ["10.1.0.9 52:54:00:00:00:02"], "has_security": ["on"], "vnic_type": ["normal"],
    "host": ["h1"], "ipv6_mode": ["slaac"],
    "pools": ["10.1.0.5 10.1.0.9"], "routes": ["10.9.0.0/16 10.1.0.7"],
    "password": ["hunter2"], "admin_pass": ["hunter2"], "username": ["u"], "email": ["u@example.org"],
    "state": ["error"], "reason": ["r"], "quota_cores": ["5"], "external_network": [ID], "is_active": ["on"],
    "nic_of": [f"port:{ID}"], "nic_fixed_ip": [""], "nic_tag": ["t"], "max_count": ["3"], "batch": ["best_effort"],
    "protected": ["on"], "trusted_image_certificates": [ID], "hypervisor_hostname": ["n"], "file_path": ["/a"],
    "file_contents": ["hunter2"], "visibility": ["private"], "import_url": ["https://x.org/a"],
    "import_checksum_url": ["https://x.org/SHA256SUMS"],
    "volume": [ID], "project": [ID],
    "resource_request": ["bandwidth: NET_BW_EGR_KILOBIT_PER_SEC=5000 CUSTOM_PHYSNET_1"],
}  # fmt: skip


def calls_in(page: str) -> list[str]:
    found = re.search(r'<pre class="console" id="as-curl-text"[^>]*>(.*?)</pre>', page, re.DOTALL)
    return [] if found is None else unescape(found[1]).strip().splitlines()


def api_view(method: str, path: str) -> Any:
    match = resolve(f"/api{path.partition('?')[0]}")
    view = getattr(match.func, "cls", None) or match.func.view_class
    assert issubclass(view, APIView), path
    actions = getattr(match.func, "actions", None)
    assert method.lower() in (actions or {name for name in ("get", "post", "delete") if hasattr(view, name)}), path
    return view


@pytest.mark.parametrize("path", [*LISTS.values(), *THINGS.values()])
def test_what_a_page_names_is_a_call_of_the_api(path: str) -> None:
    assert "policy" in vars(api_view("GET", path.format(**KWARGS)))


@pytest.mark.parametrize(
    ("method", "path"),
    [(one[0], one[1]) for every in (BESIDES, BESIDES_OF_ADMINS) for of in every.values() for one in of],
)
def test_so_are_the_others(method: str, path: str) -> None:
    api_view(method, path.format(**KWARGS))


@pytest.mark.parametrize(
    ("method", "path", "body"), [(one[0], one[1], one[3]) for of in BESIDES.values() for one in of]
)
def test_and_so_is_what_they_send(method: str, path: str, body: Any) -> None:
    assert set(body or {}) <= (_accepted(ApiCall(method, path.format(**KWARGS))) if body else set())


@pytest.mark.parametrize("name", [*LISTS, *THINGS, *FORM_CALLS])
def test_each_name_is_that_of_a_page(name: str) -> None:
    assert name in {key for key in get_resolver().reverse_dict if isinstance(key, str)}


SERIALIZERS = dict(INPUTS)


def _accepted(call: ApiCall) -> set[str]:
    """The fields that the API takes for this method and path."""
    for path, kind in SERIALIZERS.items():
        method, _, pattern = path.partition(" ")
        wanted = re.sub(r"\{\w+\}", "[^/]+", pattern)
        if method == call.method and re.fullmatch(wanted, f"/api{call.path}"):
            return set(kind().fields)
    raise Http404(f"{call.method} {call.path}")


@pytest.mark.parametrize("name", sorted(FORM_CALLS))
@pytest.mark.parametrize("is_admin", [True, False])
def test_a_form_says_only_what_the_api_takes(name: str, is_admin: bool) -> None:
    sent = {} if name == "instance-act-form" else FILLED
    for call in form_calls(name, {**KWARGS, "action": "lock"}, sent, is_admin=is_admin):
        assert "resource_request" not in (call.body or {}) or is_admin
        assert "hunter2" not in call.as_curl()
        api_view(call.method, call.path)
        if call.body is not None:
            assert set(call.body) <= _accepted(call)


def test_line_is_one_that_a_shell_reads_back() -> None:
    call = ApiCall("PATCH", "/instances/a b?q='x'", {"name": "it's\n$HOME `x`"})
    words = shlex.split(call.as_curl())
    assert words[:3] == ["curl", "-s", "-X"]
    assert words[3] == "PATCH"
    assert json.loads(words[-1]) == {"name": "it's\n$HOME `x`"}
    assert words[6] == "$API/instances/a b?q='x'"
    assert ApiCall("GET", "/work/").as_curl() == 'curl -s -H "X-Auth-Token: $TOKEN" "$API"/work/'


def test_a_list_takes_its_filters_along(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/instances/?status=ERROR&all_projects=1&sort=-name&page=1&density=compact")
    assert calls_in(page.text) == [
        """curl -s -H "X-Auth-Token: $TOKEN" "$API"'/instances/?all_projects=1&status=ERROR'"""
    ]


def test_page_of_a_thing_names_its_calls(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    lines = calls_in(as_person(people.member).get(f"/instances/{instance.pk}/").text)
    assert f'"$API"/instances/{instance.pk}/' in lines[0]
    assert "# Its journey" in lines


def test_calls_of_a_volumes_page_name_the_volume(people: People, as_person: AsPerson) -> None:
    storage_pool("shared", "h1")
    volume = volume_made(people.member)
    lines = calls_in(as_person(people.member).get(f"/volumes/{volume.pk}/").text)
    assert "# Delete it with its snapshots" in lines
    sent = [json.loads(shlex.split(one)[-1]) for one in lines if one.lstrip().startswith("--json")]
    for body in sent:
        assert body.get("volume", str(volume.pk)) == str(volume.pk)
    taken = client_of(people.member).post("/api/volume-snapshots/", sent[2])
    assert (taken.status_code, str(taken.json()["volume"])) == (202, str(volume.pk))


def test_nobody_is_shown_a_call_of_a_page_that_is_refused(people: People, as_person: AsPerson) -> None:
    assert calls_in(as_person(people.member).get("/hosts/").text) == []
    assert calls_in(Client().get("/login/").text) == []


def test_the_call_of_the_flavor_form_makes_the_flavor(people: People, as_person: AsPerson) -> None:
    typed = {"name": "x.large", "vcpus": "4", "memory_mib": "4096", "root_gib": "10", "ephemeral_gib": "0"}
    typed |= {"swap_mib": "0", "is_public": "on", "spec_key": "hw:cpu_policy", "spec_value": "shared"}
    answer = as_person(people.admin).post("/as-curl/", {**typed, "as_curl_of": "/flavors/new/"})
    words = shlex.split(unescape(answer.text))

    made = client_of(people.admin).post("/api/flavors/", json.loads(words[-1]))

    assert made.status_code == 201, made.text
    row = Flavor.objects.get(name="x.large")
    assert (row.vcpus, row.memory_mib, row.extra_specs) == (4, 4096, {"hw:cpu_policy": "shared"})


def test_the_call_of_the_volume_form_makes_the_volume(people: People, as_person: AsPerson) -> None:
    typed = {"name": "data", "size_gib": "3", "as_curl_of": "/volumes/new/"}
    answer = as_person(people.member).post("/as-curl/", typed)
    body = json.loads(shlex.split(unescape(answer.text))[-1])
    assert body == {"name": "data", "size_gib": 3}
    assert not Volume.objects.exists(), "it says how, and does nothing"


def test_the_call_of_the_image_form_imports_the_image(people: People, as_person: AsPerson) -> None:
    typed = {"name": "debian", "visibility": "private", "disk_format": "qcow2", "min_disk_gib": "2", "spec_key": "a"}
    typed |= {"spec_value": "b", "import_url": "https://x.org/a.qcow2", "import_checksum_url": "https://x.org/SUMS"}
    answer = as_person(people.member).post("/as-curl/", {**typed, "as_curl_of": "/images/new/"})
    made = client_of(people.member).post("/api/images/", json.loads(shlex.split(unescape(answer.text))[-1]))
    assert made.status_code == 201, made.text
    image = Image.objects.get(name="debian")
    assert (image.min_disk_gib, image.properties) == (2, {"a": "b"})
    assert (image.task.source_url, image.task.checksum_url) == ("https://x.org/a.qcow2", "https://x.org/SUMS")


def test_the_call_of_a_subnets_form_says_its_lines_as_objects(people: People, as_person: AsPerson) -> None:
    subnet = inside(people.member, "10.1.0.0/24", "blue")
    typed = {"gateway": "-", "pools": "10.1.0.5 - 10.1.0.9", "routes": "10.9.0.0/16 10.1.0.7", "has_dhcp": "on"}
    answer = as_person(people.member).post("/as-curl/", {**typed, "as_curl_of": f"/subnets/{subnet.pk}/edit/"})
    body = json.loads(shlex.split(unescape(answer.text))[-1])
    changed = client_of(people.member).patch(f"/api/subnets/{subnet.pk}/", body)
    assert changed.status_code == 200, changed.text
    subnet.refresh_from_db()
    assert (subnet.gateway, subnet.pools) == (None, [["10.1.0.5", "10.1.0.9"]])
    assert subnet.routes == [{"destination": "10.9.0.0/16", "nexthop": "10.1.0.7"}]


def test_the_call_of_an_administrators_port_form_makes_the_port(people: People, as_person: AsPerson) -> None:
    typed = {
        "network": str(inside(people.stranger).network_id),
        "name": "fast",
        "project": str(people.stranger.project_id),
    }
    typed["resource_request"] = "bandwidth: NET_BW_EGR_KILOBIT_PER_SEC=5000 CUSTOM_PHYSNET_1"
    body = body_shown(as_person(people.admin), "/ports/new/", typed)

    made = client_of(people.admin).post("/api/ports/", body)

    assert made.status_code == 201, made.text
    asked = {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5000}, "required": ["CUSTOM_PHYSNET_1"]}
    assert (made.json()["project"], made.json()["resource_request"]) == (typed["project"], {"bandwidth": asked})
    edit = f"/ports/{made.json()['id']}/edit/"
    assert body_shown(as_person(people.admin), edit, {"resource_request": ""})["resource_request"] == {}
    assert body_shown(as_person(people.admin), "/ports/new/", {"project": "p"})["project"] == "ID-OF-p"
    assert not {"project", "resource_request"} & body_shown(as_person(people.member), "/ports/new/", typed).keys()


def body_shown(client: Client, address: str, typed: dict[str, str]) -> dict[str, Any]:
    answer = client.post("/as-curl/", {**typed, "as_curl_of": address})
    body: dict[str, Any] = json.loads(shlex.split(unescape(answer.text))[-1])
    return body


def test_passwords_are_only_named(people: People, as_person: AsPerson) -> None:
    typed = {"username": "new", "password": "correct horse", "as_curl_of": "/users/new/"}
    answer = as_person(people.admin).post("/as-curl/", typed)
    assert "correct horse" not in answer.text
    assert json.loads(shlex.split(unescape(answer.text))[-1])["password"] == HIDDEN


@pytest.mark.parametrize("path", ["", "/nowhere/", "x" * 900, "/instances/", "\x00"])
def test_of_no_form_there_is_no_call(people: People, as_person: AsPerson, path: str) -> None:
    answer = as_person(people.member).post("/as-curl/", {"as_curl_of": path})
    assert answer.status_code in {200, 400, 404}
    assert "curl -s" not in answer.text
    assert as_person(people.member).get("/as-curl/").status_code == 405
