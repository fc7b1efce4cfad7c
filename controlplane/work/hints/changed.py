"""`changed`: what services call in the transaction that changes something."""

from django.db import connection, transaction

from controlplane.work.hints.carriers import carrier
from controlplane.work.hints.sender import hint_sender


class _OnCommit:
    """All topics of one transaction, told once it is committed."""

    __slots__ = ("topics",)

    def __init__(self, topics: tuple[str, ...]) -> None:
        self.topics = set(topics)

    def __call__(self) -> None:
        tell(self.topics)


def changed(*topics: str) -> None:
    """Tell open pages, after the commit, that these changed. Nothing is told of what is rolled back.

    It costs no statement, and a transaction's topics are told together. Topics of a savepoint that was rolled back may
    be told along with the others': a page looks once too often.
    """
    if connection.in_atomic_block:
        for _, hook, *_ in connection.run_on_commit:
            if isinstance(hook, _OnCommit):
                hook.topics.update(topics)
                return
    transaction.on_commit(_OnCommit(topics), robust=True)


def tell(topics: set[str]) -> None:
    """Tell it now: what is committed is committed, so this never raises."""
    here = carrier()
    if here.is_cheap:
        here.send(topics)
    else:
        hint_sender().add(topics)
