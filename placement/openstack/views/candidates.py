"""Where a request could be served: candidates, each of which is the body of a claim."""

import secrets

from controlplane.openstack.answers import JsonAnswer, JsonText
from placement.candidates.query import SearchOptions
from placement.conf import placement_options
from placement.openstack.call import PlacementCall
from placement.openstack.candidate_json import candidates_json
from placement.openstack.candidate_names import classes_asked, traits_asked
from placement.openstack.candidate_query import parse_candidate_query
from placement.openstack.candidate_schemas import CANDIDATES
from placement.openstack.query_values import check_resource_classes, check_traits
from placement.openstack.shapes import CandidatesShown
from placement.selectors import candidate_search


def search(call: PlacementCall) -> JsonAnswer[JsonText[CandidatesShown]]:
    call.check_query(CANDIDATES.at(call.minor))
    query = parse_candidate_query(call.query, call.minor)
    check_resource_classes(classes_asked(query))
    check_traits(traits_asked(query))
    answer = candidate_search(query, options=_options())
    return call.answer(candidates_json(answer, query, call.minor))


def _options() -> SearchOptions:
    """The operator's options. Children that are alike are all named here: a client may care which one it gets."""
    own = placement_options()
    return SearchOptions(
        max_candidates=own.max_candidates,
        strategy=own.candidates_strategy,
        seed=secrets.randbits(32) if own.randomize_candidates else None,
    )
