"""How a person uses a page: by the mouse, or by the keyboard alone. A journey is told once, and made by both.

The keyboard reaches everything by Tab, as a person does, and must see where it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

MANY_TABS = 400
CHOOSER_MS = 20_000
IS_HERE = "one => one === document.activeElement"
IS_SEEN = """one => {
  const style = getComputedStyle(one);
  return one.matches(":focus-visible") && (style.outlineStyle !== "none" || style.boxShadow !== "none");
}"""


class Hands(ABC):
    """What a person does to what a page offers."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @abstractmethod
    def press(self, what: Locator) -> None:
        """A link, a button, or the head of what opens."""

    @abstractmethod
    def write(self, where: Locator, text: str) -> None:
        """Into a field, in place of what is there."""

    @abstractmethod
    def choose(self, where: Locator, label: str) -> None:
        """An option of a list, by its label."""

    @abstractmethod
    def tick(self, what: Locator) -> None:
        """A box that is empty."""

    @abstractmethod
    def give(self, where: Locator, file: Path) -> None:
        """A file to a field for files."""

    def _chosen(self, file: Path, opens: Callable[[], None]) -> None:
        """A browser that comes to a click or key too late, on a busy machine, opens nothing: one does it again."""
        for is_last in (False, False, True):
            try:
                with self.page.expect_file_chooser(timeout=CHOOSER_MS) as chooser:
                    opens()
            except PlaywrightTimeout:
                if is_last:
                    raise
            else:
                chooser.value.set_files(file)
                return


class Mouse(Hands):
    """Clicks; text is typed where was clicked."""

    def press(self, what: Locator) -> None:
        what.click()

    def write(self, where: Locator, text: str) -> None:
        where.click()
        where.fill("")
        self.page.keyboard.type(text)

    def choose(self, where: Locator, label: str) -> None:
        where.select_option(label=label)

    def tick(self, what: Locator) -> None:
        what.check()

    def give(self, where: Locator, file: Path) -> None:
        self._chosen(file, where.click)


class Keyboard(Hands):
    """Tab, Enter, Space and arrows."""

    def press(self, what: Locator) -> None:
        self._reach(what)
        self.page.keyboard.press("Enter")

    def write(self, where: Locator, text: str) -> None:
        self._reach(where)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)

    def choose(self, where: Locator, label: str) -> None:
        self._reach(where)
        self.page.keyboard.press("Home")
        many = int(where.evaluate("one => one.options.length"))
        for _ in range(many):
            if where.evaluate("one => one.selectedOptions[0]?.label.trim()") == label:
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{label} is not among the options of {where}")

    def tick(self, what: Locator) -> None:
        self._reach(what)
        self.page.keyboard.press("Space")
        expect(what).to_be_checked()

    def give(self, where: Locator, file: Path) -> None:
        self._chosen(file, lambda: self.press(where))

    def _reach(self, what: Locator) -> None:
        expect(what).to_be_visible()
        self._skip_what_all_pages_have(what)
        for _ in range(MANY_TABS):
            if what.evaluate(IS_HERE):
                assert what.evaluate(IS_SEEN), f"one does not see that the focus is on {what}"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{what} is not reached by Tab")

    def _skip_what_all_pages_have(self, what: Locator) -> None:
        """On a fresh page the first Tab leads to the link that skips the menu."""
        is_fresh = self.page.evaluate("document.activeElement === document.body")
        if is_fresh and what.evaluate("one => Boolean(one.closest('main'))"):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.matches('a[href=\"#main\"]')"):
                self.page.keyboard.press("Enter")


HANDS: dict[str, type[Hands]] = {"mouse": Mouse, "keyboard": Keyboard}
