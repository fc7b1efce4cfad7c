"""Commands of administrators, beside one server `web`: quotas, hosts, aggregates, resource providers."""

from tests.fixtures.openstack_clients import OpenStackCommand


def quotas_and_usage(openstack: OpenStackCommand) -> None:
    """Limits of a project, what is in use, and for how long."""
    openstack.run("project create small")
    openstack.run("quota set --cores 4 --ram 999 --volumes 5 --networks 7 --secgroups 12 small")
    limits = {each["Resource"]: each["Limit"] for each in openstack.get("quota show small")}
    assert (limits["cores"], limits["ram"], limits["volumes"], limits["networks"]) == (4, 999, 5, 7)
    for service, word in (("compute", "Cores"), ("volume", "Volumes"), ("network", "Networks")):
        assert [each[word] for each in openstack.get(f"quota list --{service}")]
    openstack.run("quota delete small")
    assert openstack.get("quota show small") == openstack.get("quota show --default small")
    openstack.run("project delete small")
    used = {each["Resource"]: each["In Use"] for each in openstack.get("quota show --usage")}
    assert (used["cores"], used["instances"]) == (1, 1)
    absolute = {each["Name"]: each["Value"] for each in openstack.get("limits show --absolute")}
    assert absolute["instances_used"] == 1
    assert len(openstack.get("usage list")) == 1
    assert openstack.get("usage show")["Servers"][0]["name"] == "web"


def hosts_and_aggregates(openstack: OpenStackCommand) -> None:
    """Aggregates with zones, hypervisors, services, hosts, extensions."""
    openstack.run("aggregate create --zone z1 rack1")
    host = openstack.get("server show web")["OS-EXT-SRV-ATTR:host"]
    other = ({"hv-1", "hv-2"} - {host}).pop()
    assert openstack.get(f"aggregate add host rack1 {other}")["hosts"] == [other]
    openstack.run("aggregate set --property ssd=true rack1")
    assert openstack.get("aggregate show rack1")["properties"] == {"ssd": "true"}
    openstack.run("aggregate unset --property ssd rack1")
    assert [each["Hosts"] for each in openstack.get("aggregate list --long")] == [[other]]
    openstack.run("aggregate cache image rack1 disk")
    zones = {each["Zone Name"] for each in openstack.get("availability zone list --compute --long")}
    assert zones == {"nova", "z1"}
    assert openstack.get(f"aggregate remove host rack1 {other}")["hosts"] == []
    openstack.run("aggregate delete rack1")
    assert {each["State"] for each in openstack.get("hypervisor list --long")} == {"up"}
    assert openstack.get("hypervisor show hv-1")["hypervisor_type"] == "fake"
    assert openstack.get("hypervisor stats show")["running_vms"] == 1
    openstack.run(f"compute service set --disable --disable-reason disk {other} nova-compute")
    services = {each["Host"]: each["Status"] for each in openstack.get("compute service list --long")}
    assert services == {host: "enabled", other: "disabled"}
    openstack.run(f"compute service set --enable {other} nova-compute")
    openstack.run(f"compute service set --down {other} nova-compute")
    openstack.run(f"compute service set --up {other} nova-compute")
    assert {each["Host Name"] for each in openstack.get("host list")} == {"hv-1", "hv-2"}
    assert openstack.get("host show hv-1")[0]["Project"] == "(total)"
    assert "os-aggregates" in {each["Alias"] for each in openstack.get("extension list --compute")}


def resource_providers(openstack: OpenStackCommand, server: str) -> None:
    """Placement by osc-placement, beginning with what the server holds."""
    known = {each["name"]: each["uuid"] for each in openstack.get("resource provider list")}
    host = openstack.get("server show web")["OS-EXT-SRV-ATTR:host"]
    held = openstack.get(f"resource provider allocation show {server}")
    assert [each["resource_provider"] for each in held] == [known[host]]
    assert held[0]["resources"]["MEMORY_MB"] == 256
    usage = {
        each["resource_class"]: each["usage"] for each in openstack.get(f"resource provider usage show {known[host]}")
    }
    assert usage["VCPU"] == 1
    made = openstack.get("resource provider create rack")["uuid"]
    openstack.run("resource class create CUSTOM_GOLD")
    openstack.run("trait create CUSTOM_RACK")
    openstack.run(f"resource provider inventory set {made} --resource CUSTOM_GOLD=5")
    openstack.run(f"resource provider trait set {made} --trait CUSTOM_RACK")
    assert [each["total"] for each in openstack.get(f"resource provider inventory list {made}")] == [5]
    assert [each["name"] for each in openstack.get(f"resource provider trait list {made}")] == ["CUSTOM_RACK"]
    candidates = openstack.get("allocation candidate list --resource CUSTOM_GOLD=2 --required CUSTOM_RACK")
    assert [each["resource provider"] for each in candidates] == [made]
    assert len(openstack.get("allocation candidate list --resource VCPU=1 --resource MEMORY_MB=64")) == 2
    aggregate = "5a043835-22e9-4896-8c86-0b0283fd05c3"
    openstack.run(f"resource provider aggregate set {made} --aggregate {aggregate} --generation 2")
    assert len(openstack.get(f"resource provider aggregate list {made}")) == 1
    openstack.run(f"resource provider set --name rack2 {made}")
    assert openstack.get(f"resource provider show {made}")["name"] == "rack2"
    openstack.run(f"resource provider delete {made}")
    openstack.run("resource class delete CUSTOM_GOLD")
    openstack.run("trait delete CUSTOM_RACK")
    assert "CUSTOM_GOLD" not in {each["name"] for each in openstack.get("resource class list")}
