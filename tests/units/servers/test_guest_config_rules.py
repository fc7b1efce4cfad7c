"""Rules of what a request may say of its guests' configuration, each for itself."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from servers.checks import vendor_data_problems
from servers.conf import server_options
from servers.instances.domain.guest_config_rules import (
    access_address_reasons,
    address_spelled,
    admin_pass_new,
    admin_pass_reasons,
    config_drive_decided,
    disk_config_decided,
    fqdn_reasons,
    guest_config_problems,
    host_and_domain,
    personality_amounts,
    personality_reasons,
)
from servers.instances.domain.instance_rules import hostname_in_batch
from servers.instances.domain.vendor_data import (
    DISK_STAYS,
    VendorDataTarget,
    vendor_data_merged,
    vendor_data_targets,
    with_disk_config,
)

FILE = {"path": "/etc/motd", "contents": "aGVsbG8="}


@pytest.mark.parametrize("hostname", ["web", "web-1", "db_1.example.org", "a." * 127 + "a"])
def test_host_names_with_and_without_domain_are_fine(hostname: str) -> None:
    assert fqdn_reasons(hostname) == []


@pytest.mark.parametrize("hostname", ["", ".", "-a", "a-", "a..b", "a b", "ü", "a\n", "a" * 64, "a." * 128, 7, "a/b"])
def test_what_is_no_host_name_is_refused(hostname: object) -> None:
    assert fqdn_reasons(hostname)


def test_domain_is_added_to_host_names_without_one() -> None:
    assert host_and_domain("web", "example.org") == "web.example.org"
    assert host_and_domain("web.lab", "example.org") == "web.lab"
    assert host_and_domain("web", "") == "web"


def test_one_host_name_is_not_given_to_two() -> None:
    said = {"access_ip_v4": "", "access_ip_v6": "", "admin_pass": "", "personality": []}
    assert guest_config_problems(hostname="web", max_count=1, **said) == {}
    assert guest_config_problems(hostname="", max_count=2, **said) == {}
    problems = guest_config_problems(hostname="web", max_count=2, **said)
    assert problems == {"hostname": ["One host name cannot be given to several instances."]}


@pytest.mark.parametrize(
    ("name", "count", "hostnames"),
    [
        ("Web Server", 1, ["web-server"]),
        ("Web Server", 2, ["web-server-1", "web-server-2"]),
        ("a" * 80, 2, ["a" * 61 + "-1", "a" * 61 + "-2"]),
        ("日本", 2, ["server-u", "server-u"]),
    ],
)
def test_host_names_of_a_batch_differ_however_long_its_name(name: str, count: int, hostnames: list[str]) -> None:
    assert [hostname_in_batch(name, "u", index, count) for index in range(count)] == hostnames
    assert all(len(each) <= 63 for each in hostnames)


@pytest.mark.parametrize(
    ("address", "version", "is_fine"),
    [
        ("", 4, True), ("192.0.2.1", 4, True), ("192.0.2.256", 4, False), ("::1", 4, False), ("", 6, True),
        ("2001:db8::1", 6, True), ("192.0.2.1", 6, False), ("fe80::1%eth0", 6, False), (None, 4, False), (7, 6, False),
        ("192.0.2.1/24", 4, False), ("x", 6, False),
    ],
)  # fmt: skip
def test_addresses_are_of_their_version(address: object, version: int, *, is_fine: bool) -> None:
    assert (access_address_reasons(address, version) == []) is is_fine


def test_addresses_have_one_spelling() -> None:
    assert address_spelled("2001:DB8:0:0::1") == "2001:db8::1"
    assert address_spelled("") == ""


def test_passwords_that_can_be_typed_are_fine() -> None:
    assert admin_pass_reasons("pässwörd <&>'\" 1") == []
    assert admin_pass_reasons("a\nb")
    assert admin_pass_reasons("a" * 256)
    assert admin_pass_reasons("a\x00")
    assert admin_pass_reasons(None)


def test_made_passwords_differ_and_mix_letters_and_digits() -> None:
    made = {admin_pass_new() for _ in range(50)}
    assert len(made) == 50
    assert all(len(each) == 12 and admin_pass_reasons(each) == [] for each in made)
    assert all(any(map(test, each)) for each in made for test in (str.islower, str.isupper, str.isdigit))


@pytest.mark.parametrize(
    "personality",
    ["x", {"path": "/x"}, [FILE, FILE], ["/x"], [{"path": "/x"}], [{**FILE, "mode": 1}], [{**FILE, "path": ""}],
     [{**FILE, "path": "/\x00"}], [{**FILE, "contents": "*"}], [{**FILE, "contents": 1}], 5],
)  # fmt: skip
def test_what_are_no_files_is_refused(personality: object) -> None:
    assert personality_reasons(personality)


def test_files_within_their_limits_are_fine() -> None:
    largest = {"path": "/" + "x" * 254, "contents": base64.encodebytes(b"x" * 10240).decode()}
    assert personality_reasons([FILE, largest]) == []


def test_files_are_measured_by_the_largest_of_them() -> None:
    long = {"path": "é" * 128, "contents": base64.b64encode(b"x" * 10241).decode()}
    amounts = {"injected_files": 2, "injected_file_path_bytes": 256, "injected_file_content_bytes": 10241}
    assert personality_amounts([FILE, long]) == amounts
    assert set(personality_amounts([]).values()) == {0}


@pytest.mark.parametrize(
    ("asked", "forced", "policy", "needs", "has_drive", "reason"),
    [
        (None, False, "", [], True, ""),
        (True, False, "", [], True, ""),
        (None, True, "mandatory", ["user_data"], True, ""),
        (False, False, "optional", [], False, ""),
        (False, True, "", [], True, "FORCE_CONFIG_DRIVE"),
        (False, False, "mandatory", [], True, "img_config_drive=mandatory"),
        (False, False, "", ["user_data", "key_name"], True, "brings user_data, key_name to the guest"),
    ],
)
def test_config_drive_is_left_out_only_where_nothing_needs_it(
    *, asked: bool | None, forced: bool, policy: str, needs: list[str], has_drive: bool, reason: str
) -> None:
    decided, reasons = config_drive_decided(asked, is_forced=forced, image_policy=policy, needs=needs)
    assert decided is has_drive
    assert reason in "".join(reasons)
    assert bool(reason) is bool(reasons)


@pytest.mark.parametrize(
    ("asked", "image", "decided"),
    [
        ("", "", ""), ("AUTO", "", "AUTO"), ("MANUAL", "", "MANUAL"), ("", "True", "AUTO"), ("", "no", "MANUAL"),
        ("", "disabled", "MANUAL"), ("MANUAL", "disabled", "MANUAL"), ("AUTO", "no", "AUTO"),
    ],
)  # fmt: skip
def test_disk_config_is_the_requests_or_the_images(asked: str, image: str, decided: str) -> None:
    assert disk_config_decided(asked, image) == (decided, [])


def test_disk_config_that_the_image_forbids_is_refused() -> None:
    assert "disk resize disabled" in disk_config_decided("AUTO", " Disabled ")[1][0]
    assert "AUTO or MANUAL" in disk_config_decided("auto", "")[1][0]


def test_vendor_data_targets_are_named_addresses() -> None:
    found, reasons = vendor_data_targets(
        "a@https://x.example/v?y=@1, b@http://[::1]:80/,,c@ftp://x,@http://x,a@http://y,static@http://z"
    )
    assert found == [VendorDataTarget("a", "https://x.example/v?y=@1"), VendorDataTarget("b", "http://[::1]:80/")]
    assert len(reasons) == 4
    assert vendor_data_targets("") == ([], [])


def test_vendor_data_of_file_and_services_stand_side_by_side() -> None:
    assert vendor_data_merged({"a": 1}, {"x": {"b": 2}}) == {"static": {"a": 1}, "x": {"b": 2}}
    assert vendor_data_merged(None, {}) == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, [DISK_STAYS]), ("#cloud-config", ["#cloud-config", DISK_STAYS]), (["x"], ["x", DISK_STAYS])],
)
def test_manual_disk_tells_cloud_init_to_leave_it(before: object, after: list[str]) -> None:
    static = {"k": 1} | ({"cloud-init": before} if before else {})
    assert with_disk_config(static, "MANUAL") == {"k": 1, "cloud-init": after}
    assert with_disk_config(static, "AUTO") == with_disk_config(static, "") == static


def test_vendor_data_that_nobody_would_ask_for_is_named_by_the_system_check(tmp_path: Path) -> None:
    options = replace(
        server_options(),
        vendordata_dynamic_targets="one@https://a.example.org/x,two,one@https://b.example.org",
        vendordata_jsonfile_path=str(tmp_path / "none.json"),
    )
    assert [one.id for one in vendor_data_problems(options)] == ["servers.E003", "servers.E003", "servers.W002"]
    assert "'two' is not of the form name@https://address." in vendor_data_problems(options)[0].msg
    assert vendor_data_problems(server_options()) == []
