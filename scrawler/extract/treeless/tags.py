"""Names: the tags that have rules, by what these have in common."""

from __future__ import annotations


def names(text: str) -> frozenset[bytes]:
    """Return the names in a text, between white space."""
    return frozenset(text.encode().split())


HEADINGS = names("h1 h2 h3 h4 h5 h6")
FORMATTING = names("a b big code em font i nobr s small strike strong tt u")
HEADED = names("base basefont bgsound link meta noframes script style template title")  # go to the rules of the head
SECTIONS = names("tbody tfoot thead")
TABLE_PARTS = SECTIONS | names("caption col colgroup td th tr")
IMPLIED = names("dd dt li optgroup option p rb rp rt rtc")  # their end tags may be left out
SCOPES = names("applet caption html marquee object select table td template th")  # end the search of one in scope
BLOCKS = names(
    """address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup
    listing main menu nav ol p pre search section summary ul"""
)
SPECIAL = (  # 13.2.4.2
    (BLOCKS - {b"dialog"}) | HEADINGS | HEADED | TABLE_PARTS | SCOPES
    | names("""area body br button dd dt embed form frame frameset head hr iframe img input keygen li noembed noscript
    param plaintext source textarea track wbr xmp""")
)  # fmt: skip
BREAKOUT = HEADINGS | names(  # end foreign content
    """b big blockquote body br center code dd div dl dt em embed head hr i img li listing menu meta nobr ol p pre ruby
    s small span strong strike sub sup table tt u ul var"""
)
RAW = names("iframe noembed noframes script style textarea title xmp")  # their content is text
NOTHING: frozenset[bytes] = frozenset()
