"""Texts of the scheduler in another language: phrases, and verdicts that were kept in English."""

import json
import pickle
import re

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import Phrase, in_english, joined, reread
from scheduling.domain.trace.verdict_text import verdict_text

VERDICTS = (
    "1 of 120 hosts chosen: cmp-03 (score 2.41)",
    "2 of 4 hosts chosen for 2 instances",
    "3 of 9 hosts chosen for 7 of 8 instances: a x2, b, c and 4 more",
    "No host fits: there are no hosts",
    "No host fits: the only one lacks memory; the closest is 3 GiB of memory short",
    "No host fits: all 1,240 lack memory",
    "No host fits instance 2 of 3: 7 lack trait X, 1 is not in zone a; closest is b, 2 vCPU and 4 GiB of memory short",
)


def marked(template: str) -> str:
    """A translation that can be told from English: no word of the template is left."""
    return re.sub(r"[A-Za-z]+(?![^{]*})", "翻", template)


def test_verdicts_are_read_back_and_said_without_an_english_word() -> None:
    names = r"cmp-\d+|CUSTOM_GPU|az-1|\bX\b|vCPU|GiB|\b[abc]\b|x2|\d"
    for verdict in VERDICTS:
        assert verdict_text(verdict) == verdict
        assert verdict_text(verdict, str) == verdict
        said = verdict_text(verdict, marked)
        assert not re.search("[A-Za-z]", re.sub(names, "", said)), said


def test_verdict_that_cannot_be_read_stays_as_it_is() -> None:
    for verdict in ("The database is away.", "No host fits: 3 dance", ""):
        assert "翻" not in verdict_text(verdict, marked).replace("翻 翻 翻", "")


def test_every_reason_is_said_without_an_english_word() -> None:
    for reason in RefusalReason:
        refusal = Refusal(reason, wanted=1, available=0, detail="1")
        for said in (refusal.sentence(marked), reason.of_hosts(1, "", marked), reason.of_hosts(2, "1", marked)):
            assert not re.search("[A-Za-z]", re.sub("[KMG]iB", "", said)), said


def test_phrase_is_its_english_text_to_everybody_else() -> None:
    inner = Phrase("memory: wants {wanted}", wanted="4 GiB")
    phrase = joined([inner, Phrase("b")], "{first} and {rest}")
    assert phrase == "memory: wants 4 GiB and b"
    assert json.loads(json.dumps(phrase)) == phrase
    copied = pickle.loads(pickle.dumps(phrase))  # noqa: S301  (made here)
    assert isinstance(copied, Phrase)
    assert copied.sentence(marked) == "翻: 翻 4 GiB 翻 翻"
    assert copied.sentence(in_english) == phrase
    assert reread("last seen 3 s ago", ["last seen {seconds} s ago"]) == "last seen 3 s ago"
    assert not isinstance(reread("other", ["last seen {seconds} s ago"]), Phrase)
