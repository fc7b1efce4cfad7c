"""A demo's fleet for tests of pages, with one of each thing that pages show and a demo has none of."""

from datetime import timedelta

from controlplane.identity.models import User
from controlplane.identity.selectors import caller_for_user
from controlplane.identity.services import admin_ensure
from controlplane.identity.services.saved_views import saved_view_create
from controlplane.infra.db import db_now
from controlplane.launcher.demo.fill import demo_fill
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.simulated_agents import SimulatedAgents
from controlplane.notifications.models import Delivery, Notification
from controlplane.notifications.webhooks import webhook_create
from scheduling.policies.services.policies import policy_create
from servers.bulk.services.jobs import bulk_job_create
from servers.catalog.services.keypair import keypair_generate
from servers.catalog.services.server_group import server_group_create
from servers.models import Instance, Network, Subnet, Volume
from servers.networks.services.floating_ips import floating_ip_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from tests.worlds.cloud import PASSWORD
from tests.worlds.volumes import backup_row, snapshot_row

ADMIN = "admin"


def demo_fleet(hosts: int, instances: int) -> SimulatedAgents:
    """Fill an empty database; the agents of the hosts that are alive. Everybody has the password PASSWORD."""
    admin_ensure(PASSWORD)
    agents = SimulatedAgents(demo_fill(DemoPlan(hosts, instances, 1, db_now()), admin=ADMIN))
    _one_of_each()
    return agents


def _one_of_each() -> None:
    admin = caller_for_user(user=User.objects.get(username=ADMIN))
    policy_create(body={"filters": ["ComputeFilter", "RamFilter"], "weighers": []}, comment="To look at")
    server_group_create(caller=admin, name="apart", policy="anti-affinity")
    keypair_generate(user_id=admin.user_id, name="laptop")
    saved_view_create(caller=admin, list="instances", name="mine", query="", sharing="private")
    outside = Network.objects.get(name="public")
    inner = Subnet.objects.get(name="shop-net")
    router = router_create(caller=None, name="edge", external_network=outside.pk, project_id=inner.network.project_id)
    router_interface_add(caller=None, router_id=router.pk, subnet_id=inner.pk)
    floating_ip_create(caller=None, network_id=outside.pk, project_id=inner.network.project_id)
    volume = Volume.objects.order_by("pk")[0]
    snapshot_row(volume)
    backup_row(volume)
    some = Instance.objects.filter(deleted_at=None).order_by("pk").values_list("pk", flat=True)[:5]
    bulk_job_create(caller=admin, action="lock", ids=list(some))
    _webhook()


def _webhook() -> None:
    """One that is off, and an event that was to go to it."""
    hook = webhook_create(
        name="chat", url="https://chat.example.org/hook", events=["compute_task.*"], secret="s" * 32, enabled=False
    )
    told = Notification.objects.create(
        event_type="compute.instance.create.end", publisher_id="nova-api:kilonova", payload={}, happened_at=db_now()
    )
    Delivery.objects.create(
        notification=told, webhook=hook, max_attempts=1, next_at=db_now(), deadline_at=db_now() + timedelta(hours=1)
    )
