"""Tags of networks, subnets, ports, routers, floating addresses and security groups on the wire."""

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput


class TagsField(serializers.ListField):
    """Words of the owner. Which ones may be, the service says."""

    child = serializers.CharField(allow_blank=True, trim_whitespace=False)


class TagsInput(StrictInput):
    """A body that may have tags."""

    tags = TagsField(required=False, help_text="All of them: tags that are not here go.")
