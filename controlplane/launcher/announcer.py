"""What `up` says: drawn with rich on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


class Announcer:
    """Reports steps with their durations. In a pipe or a file each report is one line, complete when written."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(soft_wrap=True, highlight=False)

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads it now: the output is a terminal."""
        return self.console.is_terminal

    def line(self, text: str) -> None:
        """Print one line as it is."""
        self.console.print(text, markup=False)

    def warn(self, text: str) -> None:
        """Something a person should know, without being asked to do anything now."""
        self.console.print(f"[yellow]![/] {escape(text)}" if self.is_terminal else f"! {escape(text)}")

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """Around one piece of work; the value reports what it does now. Failing work is said to have failed."""
        started = time.monotonic()
        try:
            if self.is_terminal:
                with self.console.status(escape(title)) as status:
                    yield lambda detail: status.update(f"{escape(title)}: [dim]{escape(detail)}[/]")
            else:
                yield lambda detail: None
        except BaseException:
            self.console.print(f"[red]✗[/] {escape(title)}")
            raise
        self.console.print(f"[green]✓[/] {escape(title)} [dim]({time.monotonic() - started:.1f} s)[/]")
