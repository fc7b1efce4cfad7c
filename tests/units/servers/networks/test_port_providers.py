"""Which provider serves what a port asks for, found from what its instance holds."""

import uuid

from servers.networks.domain.port_providers import amounts_of_groups
from servers.networks.domain.port_resources import ResourceGroup

ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)
OUT, IN = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"


def group(kbit: int, *required: str, name: str = "a") -> ResourceGroup:
    return ResourceGroup(name, {OUT: kbit}, required)


def test_traits_say_which_card_it_is() -> None:
    traits = {ONE: frozenset({"SLOW"}), TWO: frozenset({"FAST", "MORE"})}
    held = {ONE: {OUT: 10}, TWO: {OUT: 10}}
    assert amounts_of_groups([group(10, "FAST")], [], held, traits) == {TWO: {OUT: 10}}
    assert amounts_of_groups([group(10, "OTHER")], [], held, traits) == {}


def test_those_that_stay_keep_what_they_need() -> None:
    held = {ONE: {OUT: 30}, TWO: {OUT: 10}}
    assert amounts_of_groups([group(10)], [group(30)], held, {}) == {TWO: {OUT: 10}}
    assert amounts_of_groups([group(10)], [group(10), group(20)], held, {}) == {ONE: {OUT: 10}}


def test_several_groups_of_a_port_are_found_together() -> None:
    held = {ONE: {OUT: 20, IN: 5}, TWO: {OUT: 5}}
    asked = [ResourceGroup("a", {OUT: 20, IN: 5}, ()), ResourceGroup("b", {OUT: 5}, ())]
    assert amounts_of_groups(asked, [], held, {}) == {ONE: {OUT: 20, IN: 5}, TWO: {OUT: 5}}


def test_what_nobody_serves_holds_nothing() -> None:
    assert amounts_of_groups([group(10)], [], {ONE: {OUT: 9}}, {}) == {}
    assert amounts_of_groups([group(10)], [group(99)], {ONE: {OUT: 12}}, {}) == {ONE: {OUT: 10}}
