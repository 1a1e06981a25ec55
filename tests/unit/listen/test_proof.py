"""What a key file of IndexNow has to be: the key and nothing else, at a path without a query."""

from __future__ import annotations

import pytest

from scrawler.features.push.asker import Answer
from scrawler.features.push.proof import Proof
from tests.tables import each

KEY = "a1b2c3d4e5f6"
USUAL = Proof(KEY, f"http://www.example.org/{KEY}.txt")


@each(
    ("body", "shown"),
    [
        (KEY, True),
        (f"{KEY}\r\n", True),
        (f"\ufeff{KEY}\n", True),
        (f" \n{KEY}\n\n", True),
        (f"{KEY}\nother\n", False),
        (f"comments\n{KEY}\n", False),
        (f"<p>\n{KEY}\n</p>", False),
        (f"{KEY}x", False),
        (KEY + " " * 5_000, False),
        ("", False),
    ],
)
def test_the_key_alone_proves_it(body: str, shown: bool) -> None:
    assert USUAL.is_shown_by(Answer(200, body=body.encode(), url=USUAL.location)) is shown


def test_a_page_that_shows_its_query_proves_nothing() -> None:
    page = "http://www.example.org/new"
    assert Proof.of(page, KEY, f"http://www.example.org/echo?text={KEY}") is None
    assert Proof.of(page, KEY, "http://www.example.org/key.txt?") is None
    assert Proof.of(page, KEY, "http://www.example.org/key.txt#x") == Proof(KEY, "http://www.example.org/key.txt")
    known_before = Proof(KEY, f"http://www.example.org/echo?text={KEY}")
    assert known_before.is_shown_by(Answer(200, body=KEY.encode(), url=known_before.location)) is False
    redirected = Answer(200, body=KEY.encode(), url=f"http://www.example.org/echo?text={KEY}")
    assert USUAL.is_shown_by(redirected) is False


@pytest.mark.parametrize("text", ["[", "1", "[1, 2]", '["key"]', "[" * 100_000, '["key", null]'])
def test_what_the_database_has_may_be_no_proof(text: str) -> None:
    assert Proof.read(text) is None
