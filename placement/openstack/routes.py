"""Which path and method leads where, from which version on, for whom."""

from controlplane.openstack.routes import Endpoint, Route, RouteTable
from placement.openstack.access import Access
from placement.openstack.views import (
    aggregates,
    allocations,
    candidates,
    inventories,
    providers,
    reshaper,
    resource_classes,
    root,
    traits,
    usages,
)

READ, WRITE, RESHAPE = Access.READ, Access.WRITE, Access.RESHAPE
PROVIDER = "/resource_providers/{uuid}"

ROUTES = RouteTable(
    [
        Route("/", {"GET": Endpoint(root.version_document, None)}),
        Route(
            "/resource_classes",
            {
                "GET": Endpoint(resource_classes.class_list, READ, since=2, gives=True),
                "POST": Endpoint(resource_classes.class_create, WRITE, since=2, takes=True),
            },
        ),
        Route(
            "/resource_classes/{name}",
            {
                "GET": Endpoint(resource_classes.class_show, READ, since=2, gives=True),
                # Below 1.7 it takes a body (the new name), from there on none: the view checks by itself.
                "PUT": Endpoint(resource_classes.class_put, WRITE, since=2),
                "DELETE": Endpoint(resource_classes.class_delete, WRITE, since=2),
            },
        ),
        Route(
            "/resource_providers",
            {
                "GET": Endpoint(providers.provider_list, READ, gives=True),
                "POST": Endpoint(providers.provider_create, WRITE, takes=True),
            },
        ),
        Route(
            PROVIDER,
            {
                "GET": Endpoint(providers.provider_show, READ, gives=True),
                "DELETE": Endpoint(providers.provider_delete, WRITE),
                "PUT": Endpoint(providers.provider_update, WRITE, gives=True, takes=True),
            },
        ),
        Route(
            PROVIDER + "/inventories",
            {
                "GET": Endpoint(inventories.inventory_list, READ, gives=True),
                "POST": Endpoint(inventories.inventory_create, WRITE, gives=True, takes=True),
                "PUT": Endpoint(inventories.inventory_replace_all, WRITE, gives=True, takes=True),
                "DELETE": Endpoint(inventories.inventory_delete_all, WRITE, since=5, missing=405),
            },
        ),
        Route(
            PROVIDER + "/inventories/{resource_class}",
            {
                "GET": Endpoint(inventories.inventory_show, READ, gives=True),
                "PUT": Endpoint(inventories.inventory_update, WRITE, gives=True, takes=True),
                "DELETE": Endpoint(inventories.inventory_delete, WRITE),
            },
        ),
        Route(PROVIDER + "/usages", {"GET": Endpoint(usages.provider_usages, READ, gives=True)}),
        Route(
            PROVIDER + "/aggregates",
            {
                "GET": Endpoint(aggregates.aggregate_list, READ, since=1, gives=True),
                "PUT": Endpoint(aggregates.aggregate_replace, WRITE, since=1, gives=True, takes=True),
            },
        ),
        Route(
            PROVIDER + "/traits",
            {
                "GET": Endpoint(traits.provider_trait_list, READ, since=6, gives=True),
                "PUT": Endpoint(traits.provider_trait_replace, WRITE, since=6, takes=True),
                "DELETE": Endpoint(traits.provider_trait_delete, WRITE, since=6),
            },
        ),
        Route(PROVIDER + "/allocations", {"GET": Endpoint(allocations.of_provider, READ, gives=True)}),
        Route("/allocations", {"POST": Endpoint(allocations.replace_many, WRITE, since=13, takes=True)}),
        Route(
            "/allocations/{consumer_uuid}",
            {
                "GET": Endpoint(allocations.of_consumer, READ, gives=True),
                "PUT": Endpoint(allocations.replace_one, WRITE, takes=True),
                "DELETE": Endpoint(allocations.delete, WRITE),
            },
        ),
        Route("/allocation_candidates", {"GET": Endpoint(candidates.search, READ, since=10, gives=True)}),
        Route("/traits", {"GET": Endpoint(traits.trait_list, READ, since=6, gives=True)}),
        Route(
            "/traits/{name}",
            {
                "GET": Endpoint(traits.trait_show, READ, since=6),
                "PUT": Endpoint(traits.trait_put, WRITE, since=6),
                "DELETE": Endpoint(traits.trait_delete, WRITE, since=6),
            },
        ),
        # Whose usages are asked for decides who may: the view checks.
        Route("/usages", {"GET": Endpoint(usages.total_usages, None, since=9, gives=True)}),
        Route("/reshaper", {"POST": Endpoint(reshaper.reshape_all, RESHAPE, since=30, takes=True)}),
    ]
)
