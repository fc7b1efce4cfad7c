"""What changes of a host from minute to minute, between two registrations."""

from django.db.models.functions import Now

from computeagent.protocol.hosts import HostMeasures
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.services.measures import measures_columns
from scheduling.fleet.services.usage_history import host_usage_record
from scheduling.models import ComputeNode


def host_measures_store(*, host: str, measures: HostMeasures) -> None:
    """How busy the host is now, in its row and in its history. Raises NotFound for a host that is not registered.

    What open pages show is not asked for again: all this is another value each minute.
    """
    columns = measures_columns(measures)
    columns |= {"disk_available_least_gib": measures.disk_available_least_gib, "updated_at": Now()}
    if not ComputeNode.objects.filter(host=host).update(**columns):
        raise NotFound(_("Host {host} is not registered.", host=host), field="host")
    host_usage_record(host=host, metrics=measures.metrics, usage=measures.usage)
