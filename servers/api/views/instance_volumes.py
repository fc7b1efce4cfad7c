"""Volumes of an instance: list, attach, detach."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.instance_volumes import InstanceVolumeInput, InstanceVolumeOutput
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME, NO, YES
from servers.instances.selectors.block_devices import instance_volumes
from servers.instances.selectors.instances import instance_get
from servers.instances.services.act import instance_act
from servers.models import Instance


class InstanceVolumes:
    """Actions of `InstanceViewSet`."""

    policy = {
        "volumes": "instances:read",
        "volume_attach": ATTACH_VOLUME.policy,
        "volume_detach": DETACH_VOLUME.policy,
    }

    @extend_schema(responses=InstanceVolumeOutput(many=True))
    @action(detail=True, methods=["get"], pagination_class=None, filter_backends=())
    def volumes(self, request: Request, pk: str) -> Response:
        """Its volumes, in the order of its disks."""
        return _volumes(instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance")))

    @extend_schema(request=InstanceVolumeInput, responses={202: InstanceVolumeOutput(many=True)})
    @volumes.mapping.post
    def volume_attach(self, request: Request, pk: str) -> Response:
        """Attaches one: 202 with all of them; its host is asked now, and one that is off has it with its next start."""
        body = InstanceVolumeInput(data=request.data)
        body.is_valid(raise_exception=True)
        said = dict(body.validated_data)
        flags = {name: YES if said.pop(name) else NO for name in ("delete_on_termination", "read_only")}
        changed = instance_act(
            caller=caller_of(request),
            instance_id=uuid_in_path(pk, what="Instance"),
            action=ATTACH_VOLUME.name,
            arguments={name: value for name, value in {**said, **flags}.items() if value},
        )
        return _volumes(changed, status.HTTP_202_ACCEPTED)

    @extend_schema(responses={202: None})
    @action(detail=True, methods=["delete"], url_path="volumes/(?P<volume>[^/]+)")
    def volume_detach(self, request: Request, pk: str, volume: str) -> Response:
        """Detaches the one of this id: 202; it is gone when the guest has let go of it, and stays where it does not."""
        instance_act(
            caller=caller_of(request),
            instance_id=uuid_in_path(pk, what="Instance"),
            action=DETACH_VOLUME.name,
            arguments={"volume": str(uuid_in_path(volume, what="Volume"))},
        )
        return Response(status=status.HTTP_202_ACCEPTED)


def _volumes(instance: Instance, code: int = status.HTTP_200_OK) -> Response:
    found = instance_volumes(instance)
    return Response(InstanceVolumeOutput(found, many=True).data, status=code)  # type: ignore[arg-type]  # many
