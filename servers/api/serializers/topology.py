"""What hangs on what, on the wire: a list, each node naming its parent's place in it."""

from typing import Any

from rest_framework import serializers

from servers.networks.selectors.network_topology import TopologyKind, TopologyNode


class TopologyNodeOutput(serializers.Serializer[Any]):
    """A network, a router or a guest."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in TopologyKind])
    # DRF takes declared fields out of the class: the serializer's own `parent` is what it was.
    parent = serializers.IntegerField(  # type: ignore[assignment]
        allow_null=True, help_text="Place in this list, from 0, of what it hangs on; parents come first."
    )
    id = serializers.UUIDField(help_text="Of the network, the router or, of a guest, its port.")
    name = serializers.CharField(allow_blank=True, help_text="Of a guest its instance's, or its port's.")
    instance = serializers.UUIDField(allow_null=True, help_text="Of a guest, where the caller may see it.")
    addresses = serializers.ListField(
        child=serializers.CharField(), help_text="Where it hangs; of the outside those of the router's gateway."
    )
    floating_addresses = serializers.ListField(child=serializers.CharField())
    cidrs = serializers.ListField(child=serializers.CharField(), help_text="Ranges of the network that was asked for.")
    left_out = serializers.IntegerField(help_text="How many more hang on it than are listed.")


class TopologyOutput(serializers.Serializer[Any]):
    """What hangs on what, from outside in."""

    nodes = TopologyNodeOutput(many=True)


def topology_output(root: TopologyNode) -> dict[str, Any]:
    """The tree as a list, in the order in which pages draw it."""
    nodes: list[dict[str, Any]] = []
    waiting: list[tuple[TopologyNode, int | None]] = [(root, None)]
    while waiting:
        node, parent = waiting.pop()
        waiting += [(child, len(nodes)) for child in reversed(node.children)]
        nodes.append(_node_output(node, parent))
    return dict(TopologyOutput({"nodes": nodes}).data)


def _node_output(node: TopologyNode, parent: int | None) -> dict[str, Any]:
    return {
        "kind": node.kind.value,
        "parent": parent,
        "id": node.id,
        "name": node.name,
        "instance": node.instance_id,
        "addresses": node.addresses,
        "floating_addresses": node.floating,
        "cidrs": node.cidrs,
        "left_out": node.more,
    }
