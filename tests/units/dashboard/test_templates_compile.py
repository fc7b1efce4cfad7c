"""Every template parses: a typo in a page that no test opens is found here."""

from pathlib import Path

import pytest
from django.template import engines

ROOT = Path(__file__).resolve().parent.parent.parent.parent
TEMPLATES = sorted(str(path.relative_to(ROOT / "templates")) for path in (ROOT / "templates").rglob("*.html"))


@pytest.mark.parametrize("name", TEMPLATES)
def test_template_compiles(name: str) -> None:
    assert engines["django"].get_template(name) is not None
