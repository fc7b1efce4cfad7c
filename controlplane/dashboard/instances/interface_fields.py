"""The part of the create form that is about network interfaces: whether it gets any, and those that are more than a
network's next address. What may be asked for is the service's to say.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from controlplane.infra.reader_texts import said
from servers.instances.domain.nics import AUTO, MAX_NICS, NONE, nic_parse

NIC_COLUMNS = ("nic_of", "nic_fixed_ip", "nic_tag")
"""Names of a row's inputs. Rows are as many texts of each, in their order."""
NETWORK, PORT = "network", "port"


@dataclass(frozen=True, slots=True)
class InterfaceRow:
    """One interface as it was filled in. `of`: network:ID or port:ID."""

    of: str = ""
    fixed_ip: str = ""
    tag: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """As the API takes it."""
        kind, _colon, reference = self.of.partition(":")
        which = {kind: reference} if self.of else {}
        return which | {name: text for name, text in (("fixed_ip", self.fixed_ip), ("tag", self.tag)) if text}


class InterfaceRows(forms.Widget):
    """Reads the rows; the form's template draws them."""

    def value_from_datadict(self, data: Any, _files: Any, _name: str) -> list[InterfaceRow]:
        """See `interface_rows`."""
        return interface_rows({name: data.getlist(name) for name in NIC_COLUMNS})


class InterfacesField(forms.Field):
    """Rows of interfaces; cleaned to what the API takes."""

    widget = InterfaceRows

    def clean(self, value: Sequence[InterfaceRow]) -> list[dict[str, str]]:
        """Raises ValidationError with what is wrong with the form of each row."""
        asked = [row.asked for row in value or ()]
        wrong = [(number, reason) for number, one in enumerate(asked, start=1) for reason in nic_parse(one)[1]]
        if wrong:
            text = _("Interface %(number)d: %(text)s")
            raise forms.ValidationError([text % {"number": number, "text": said(reason)} for number, reason in wrong])
        return asked


def interface_fields() -> dict[str, forms.Field]:
    """The fields by name."""
    return {
        "network_choice": forms.ChoiceField(
            label=_("Network cards"),
            required=False,
            choices=[
                ("", _("as named")),
                (AUTO, _("auto: one is found or made")),
                (NONE, _("none at all")),
            ],
            help_text=_(
                "As named: in the networks that are marked under “More options”, and as the rows below say. Auto: in "
                "the default network, or the only one; where there is none, one is made for the project."
            ),
        ),
        "interfaces": InterfacesField(
            label=_("Interfaces"),
            required=False,
            help_text=_(
                "In their order, after those of the networks that are marked. A port that is there brings its own "
                "address and security groups. The guest learns the tag with the card."
            ),
        ),
    }


def interface_rows(columns: Mapping[str, Sequence[str]]) -> list[InterfaceRow]:
    """The rows in which anything is filled in."""
    texts = zip_longest(*(columns.get(name, ()) for name in NIC_COLUMNS), fillvalue="")
    rows = (InterfaceRow(*(text.strip() for text in row)) for row in texts)
    return [row for row in rows if row != InterfaceRow()]


def networks_asked(choice: str, networks: Iterable[str], interfaces: Sequence[Mapping[str, str]]) -> Any:
    """`networks` of the API: a word, a list of interfaces, or None where nothing is said."""
    return choice or [*({NETWORK: one} for one in networks if one), *interfaces] or None


@dataclass(frozen=True, slots=True)
class RowChoice:
    """What a row may choose."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class InterfaceChoices:
    """What there is to choose from in each row."""

    networks: Sequence[RowChoice]
    ports: Sequence[RowChoice]

    def rows_shown(self, rows: Sequence[InterfaceRow], *, is_longer: bool) -> list[tuple[InterfaceRow, str]]:
        """The rows that are filled in, and one that is not. With each, what it chose that is not offered (any more)."""
        offered = {one.value for one in (*self.networks, *self.ports)} | {""}
        empty = [InterfaceRow()] * (min(1 + is_longer, MAX_NICS - len(rows)))
        return [(row, "" if row.of in offered else row.of) for row in (*rows, *empty)]


def interface_choices(networks: Iterable[Any], ports: Iterable[Any]) -> InterfaceChoices:
    """Of rows of both."""
    return InterfaceChoices(
        [RowChoice(f"{NETWORK}:{one.pk}", one.name or str(one.pk)) for one in networks],
        [RowChoice(f"{PORT}:{one.pk}", port_label(one)) for one in ports],
    )


def port_label(port: Any) -> str:
    """Name or id, addresses and network."""
    return ", ".join(filter(None, (port.name or str(port.pk), *port.addresses, port.network_name)))
