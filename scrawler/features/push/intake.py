"""Judges URLs that somebody sends, and keeps them: nothing is acknowledged that is not committed."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scrawler.features.push.proof import Proof
from scrawler.features.push.proofs import KeyFiles
from scrawler.features.push.store.pushes import KnownSite, Pushes
from scrawler.model.scope import Scope
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import authority, site_key

MOST_URLS = 10_000  # of one message, as IndexNow says
_INDEXNOW_KEY = re.compile(r"[A-Za-z0-9-]{8,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a sender is told."""

    status: int
    text: str
    accepted: int = 0


def new_key() -> str:
    """Return a key, or a token, of 256 random bits."""
    return secrets.token_urlsafe(32)


def digest_of(key: str) -> bytes:
    """Return what is kept of a key; as its bits are random, a salt or many rounds would bring nothing."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class Intake:
    """Takes URLs in; any thread may use it."""

    def __init__(
        self, pushes: Pushes, boundary: CrawlBoundary, scope: Scope, longest: int, key_files: KeyFiles
    ) -> None:
        """URLs may have `longest` characters."""
        self._pushes = pushes
        self._boundary = boundary
        self._scope = scope
        self._longest = longest
        self._key_files = key_files
        self._lock = threading.Lock()
        self._refused: Counter[tuple[int, str]] = Counter()

    # -- IndexNow ------------------------------------------------------------------------------------------

    def indexnow(self, host: Any, key: Any, location: Any, urls: Any, sender: str = "") -> Reply:
        """Take a message of IndexNow (indexnow.org/documentation); `sender` is by what its client is counted.

        `host` is None where it need not be said, as in a message of one URL.
        """
        if not (isinstance(key, str) and isinstance(urls, list) and urls):
            return self._refuse(400, "key and URLs are wanted")
        if len(urls) > MOST_URLS:
            return self._refuse(400, f"more than {MOST_URLS:,} URLs in one message")
        if not all(isinstance(url, str) for url in urls):
            return self._refuse(400, "a URL is no text")
        if _INDEXNOW_KEY.fullmatch(key) is None:
            return self._refuse(422, "the key is to have 8 to 128 letters, digits and dashes")
        normal = [normalise(url).url for url in urls]
        if not all(normal):
            return self._refuse(400, "a URL is none")
        if host is not None and not (isinstance(host, str) and all(_is_at(url, host) for url in normal)):
            return self._refuse(422, "a URL is not of that host")
        if len({authority(url) for url in normal}) > 1:
            return self._refuse(422, "URLs of several hosts")
        site = self._site(normal[0])
        if site is None:
            return self._refuse(422, "this crawler does not know the site")
        proof = Proof.of(normal[0], key, location)
        if proof is None or not all(proof.covers(url) for url in normal):
            return self._refuse(422, "keyLocation is not of that host, or a URL is not below it", site.id)
        return self._with_proof(site, normal, proof, sender)

    def _with_proof(self, site: KnownSite, urls: Sequence[str], proof: Proof, sender: str) -> Reply:
        wanted = self._wanted(site, urls)
        if not wanted:
            return self._refuse(422, "none of the URLs is of this crawl", site.id, len(urls))
        accepted = 0
        holds = self._key_files.holds(proof)
        if holds is None:
            if not self._key_files.has_room(proof, site, sender):
                return self._refuse(429, "the files of too many keys are to be read first", site.id, len(urls))
            accepted = self._pushes.accept_unproved(site, wanted, "indexnow", proof.text()).accepted
            self._key_files.prove(proof, site, sender)
            holds = self._key_files.wait_for(proof)
        if holds is False:
            return self._refuse(403, self._key_files.why(proof), site.id, len(urls))
        if holds:  # it says what was over the quota
            return self.keep(site, wanted, "indexnow", left_out=len(urls) - len(wanted))
        if accepted < len(wanted):  # once the file was read they are all taken: for that there need be no room here
            words = "too many URLs of this site wait for the file of their key: send them once more in a minute"
            return self._refuse(429, words, site.id, len(urls) - accepted)
        return Reply(202, "kept until the file of the key was read", accepted)

    def prove_left(self) -> None:
        """Go on with what was to be proved when the listener before this one ended."""
        for key, text in self._pushes.unproved():
            site, proof = self._pushes.site(key), Proof.read(text)
            if site is not None and proof is not None:
                self._key_files.prove(proof, site)

    def proved(self, proof: Proof, site: KnownSite, holds: bool) -> None:
        """Let go of, or forget, what waited for a proof."""
        self._pushes.proved(site, "indexnow", proof.text(), holds)

    # -- pings ---------------------------------------------------------------------------------------------

    def ping(self, key: str, urls: Any) -> Reply:
        """Take URLs of the site for which a key was made."""
        site_id = self._pushes.key_site(digest_of(key)) if key else None
        if site_id is None:
            return self._refuse(401, "no such key", source="ping")
        if not (isinstance(urls, list) and urls and all(isinstance(url, str) for url in urls)):
            return self._refuse(400, "URLs are wanted", site_id, source="ping")
        if len(urls) > MOST_URLS:
            return self._refuse(400, f"more than {MOST_URLS:,} URLs in one message", site_id, source="ping")
        normal = [url for url in (normalise(url).url for url in urls) if url]
        site = self._site(normal[0]) if normal else None
        if site is None or site.id != site_id:
            return self._refuse(422, "the key is for another site", site_id, len(urls), source="ping")
        reply = self.take(site, normal, "ping", left_out=len(urls) - len(normal))
        if reply.accepted:
            self._pushes.key_used(digest_of(key))
        return reply

    # -- what all of them have in common -------------------------------------------------------------------

    def site_of(self, url: str) -> KnownSite | None:
        """Return the site of a normalised URL, if the crawl has seeds there."""
        return self._site(url)

    def take(self, site: KnownSite, urls: Sequence[str], source: str, left_out: int = 0) -> Reply:
        """Judge normalised URLs of whoever may send those of a site, and keep them."""
        wanted = self._wanted(site, urls)
        if not wanted:
            return self._refuse(422, "none of the URLs is of this crawl", site.id, len(urls), source)
        return self.keep(site, wanted, source, left_out + len(urls) - len(wanted))

    def keep(self, site: KnownSite, urls: Sequence[str], source: str, left_out: int = 0) -> Reply:
        """Keep URLs that were judged; they are committed when this returns. Raises StoreError."""
        accepted = self._pushes.accept(site, urls, source)
        if left_out:
            self._note(site.id, left_out, source)
        if not accepted.accepted:
            return Reply(429, "the site has sent as many URLs as it may, today, or until some were asked for")
        over = f", {accepted.over_quota} over the quota of the site" if accepted.over_quota else ""
        left = f", {left_out} not of this crawl" if left_out else ""
        return Reply(200, f"{accepted.accepted} accepted{over}{left}", accepted.accepted)

    def _wanted(self, site: KnownSite, urls: Iterable[str]) -> list[str]:
        rule = self._boundary.rule()
        some = (url for url in dict.fromkeys(urls) if len(url) <= self._longest)
        mine = (url for url in some if site_key(url, self._scope) == site.key)
        return [url for url in mine if site.has(url, self._scope) and not rule.refusal(url)]

    def _site(self, url: str) -> KnownSite | None:
        return self._pushes.site(site_key(url, self._scope))

    def _refuse(self, status: int, text: str, site_id: int = 0, times: int = 1, source: str = "indexnow") -> Reply:
        self._note(site_id, times, source)
        return Reply(status, text)

    def refused(self, source: str, site_id: int = 0) -> None:
        """Count a message that was refused before anybody knew of which URLs."""
        self._note(site_id, 1, source)

    def _note(self, site_id: int, times: int, source: str) -> None:
        with self._lock:
            if len(self._refused) < MOST_URLS:
                self._refused[site_id, source] += times

    def write_refused(self) -> None:
        """Write what was refused since, all of it at once: who floods writes no row for each message."""
        with self._lock:
            counts, self._refused = self._refused, Counter()
        self._pushes.refused(counts)


def _is_at(url: str, host: str) -> bool:
    netloc = authority(url)
    return netloc.lower() == host.lower() or netloc.rpartition(":")[0].lower() == host.lower()


def urls_of(body: bytes) -> list[str]:
    """Read URLs out of a body: JSON {"urls": [...]}, or lines. Raises ValueError."""
    if body.lstrip().startswith((b"{", b"[")):
        value = json.loads(body)
        urls = value.get("urls", value.get("urlList")) if isinstance(value, dict) else value
        if not isinstance(urls, list):
            raise ValueError("no list of URLs")
        return urls
    return [line.strip() for line in body.decode("utf-8").splitlines() if line.strip()]
