"""Tables of nftables as values, and the text that makes them: whole, or what differs from those in force.

Either text is one transaction: the kernel takes all of it or nothing. Connections go on, since they are tracked apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Chain:
    """Rules in order. `hook`: where the kernel calls it; empty: other chains do."""

    rules: tuple[str, ...]
    hook: str = ""


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A set, or a map where its elements have values. `key` is its `type` or `typeof` clause."""

    key: str
    elements: Mapping[str, str]
    is_map: bool = False
    flags: str = ""

    @property
    def kind(self) -> str:
        """The word for it."""
        return "map" if self.is_map else "set"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a family."""

    family: str
    name: str
    chains: Mapping[str, Chain] = field(default_factory=dict)
    sets: Mapping[str, NamedSet] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """As commands name it."""
        return f"{self.family} {self.name}"


def whole(tables: tuple[Table, ...]) -> str:
    """The text that replaces the tables by these, whatever is in them."""
    return "\n".join(line for table in tables for line in _whole(table)) + "\n"


def change(old: tuple[Table, ...], new: tuple[Table, ...]) -> str:
    """The text that makes `new` of `old`; empty where they are the same."""
    before = {table.full_name: table for table in old}
    lines: list[str] = []
    for table in new:
        was = before.pop(table.full_name, None)
        lines += _whole(table) if was is None else _changed(was, table)
    lines += [f"delete table {name}" for name in before]
    return "\n".join(lines) + "\n" if lines else ""


def _whole(table: Table) -> Iterator[str]:
    yield f"table {table.full_name}"
    yield f"delete table {table.full_name}"
    yield f"table {table.full_name}"
    yield from _changed(Table(table.family, table.name), table)


def _changed(old: Table, new: Table) -> Iterator[str]:
    """Chains and sets are there before what names them, and go after it."""
    if any(name in old.sets and _shape(old.sets[name]) != _shape(is_) for name, is_ in new.sets.items()):
        yield from _whole(new)  # a set cannot change its kind while rules name it
        return
    yield from _added(old, new)
    gone = [name for name in old.chains if name not in new.chains]
    for name, is_ in new.sets.items():
        was = old.sets[name].elements if name in old.sets else {}
        yield from _elements("delete", new, name, {k: v for k, v in was.items() if is_.elements.get(k) != v})
        yield from _elements("add", new, name, {k: v for k, v in is_.elements.items() if was.get(k) != v})
    for name in gone:
        yield f"flush chain {new.full_name} {name}"
    for name, chain in new.chains.items():
        yield from _rules(old, new, name, chain)
    for name, is_ in old.sets.items():
        if name not in new.sets:
            yield from _elements("delete", new, name, is_.elements)
            yield f"delete {is_.kind} {new.full_name} {name}"
    for name in gone:
        yield f"delete chain {new.full_name} {name}"


def _added(old: Table, new: Table) -> Iterator[str]:
    for name, chain in new.chains.items():
        if name not in old.chains:
            yield f"add chain {new.full_name} {name}" + (f" {{ {chain.hook} }}" if chain.hook else "")
    for name, is_ in new.sets.items():
        if name not in old.sets:
            flags = f" flags {is_.flags};" if is_.flags else ""
            yield f"add {is_.kind} {new.full_name} {name} {{ {is_.key};{flags} }}"


def _rules(old: Table, new: Table, name: str, chain: Chain) -> Iterator[str]:
    if name in old.chains:
        if old.chains[name].rules == chain.rules:
            return
        yield f"flush chain {new.full_name} {name}"
    for rule in chain.rules:
        yield f"add rule {new.full_name} {name} {rule}"


def _shape(is_: NamedSet) -> tuple[str, bool, str]:
    return is_.key, is_.is_map, is_.flags


def _elements(verb: str, table: Table, name: str, elements: Mapping[str, str]) -> Iterator[str]:
    if elements:
        listed = ", ".join(f"{key} : {value}" if value else key for key, value in elements.items())
        yield f"{verb} element {table.full_name} {name} {{ {listed} }}"
