import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.engine import ImageSnapshot
from scheduling.filters.isolated_hosts import IsolatedHostsFilter
from tests.units.scheduling.worlds import host, policy, reasons, refused, request, run, table, trace_reasons

FLEET = table(host("iso"), host("free"), host("ISO"))


def options(images: tuple[str, ...], *, restrict: bool) -> PolicyOptions:
    """Host `iso` is isolated, and these images."""
    return PolicyOptions(
        isolated_images=images, isolated_hosts=("iso",), restrict_isolated_hosts_to_isolated_images=restrict
    )


@pytest.mark.parametrize(
    ("images", "restrict", "image", "refused_hosts"),
    [
        ((), True, "any", {"iso"}),
        ((), False, "any", set()),
        (("secret",), True, "secret", {"free", "ISO"}),
        (("secret",), True, "other", {"iso"}),
        (("secret",), True, "", {"iso"}),  # from a volume: no image
        (("secret",), False, "secret", {"free", "ISO"}),
        (("secret",), False, "other", set()),
    ],
)
def test_isolated_images_and_hosts_follow_the_truth_table(
    images: tuple[str, ...], restrict: bool, image: str, refused_hosts: set[str]
) -> None:
    found = refused(
        IsolatedHostsFilter(), FLEET, request(image=ImageSnapshot(image)), options(images, restrict=restrict)
    )
    assert set(found) == refused_hosts


def test_without_options_every_host_passes() -> None:
    assert refused(IsolatedHostsFilter(), FLEET, request()) == {}


def test_both_directions_have_their_own_reason() -> None:
    isolated, other = request(image=ImageSnapshot("secret")), request(image=ImageSnapshot("other"))
    rules = options(("secret",), restrict=True)
    assert reasons(IsolatedHostsFilter(), FLEET, isolated, rules)["free"] is RefusalReason.HOST_NOT_ISOLATED
    assert reasons(IsolatedHostsFilter(), FLEET, other, rules)["iso"] is RefusalReason.HOST_ISOLATED


def test_runs_when_an_instance_is_rebuilt_with_an_isolated_image() -> None:
    asked = request(image=ImageSnapshot("secret"), hints={"_nova_check_type": ("rebuild",)})
    trace = run(table(host("free")), asked, policy("IsolatedHostsFilter", options=options(("secret",), restrict=True)))
    assert trace_reasons(trace) == {"free": RefusalReason.HOST_NOT_ISOLATED}


def test_forced_hosts_skip_it() -> None:
    asked = request(image=ImageSnapshot("other"), force_hosts=("iso",))
    trace = run(table(host("iso")), asked, policy("IsolatedHostsFilter", options=options(("secret",), restrict=True)))
    assert [each.selected.host for each in trace.selections] == ["iso"]
