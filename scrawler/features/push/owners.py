"""Owners of sites: they show that a site is theirs, submit URLs of it, name a time of the day, and see what came of it.

An owner has a token, which nobody else has. What is published on the site is not the token but a word made from it and
the site's host: it proves nothing for whoever reads it there and has another token, and does not tell the token.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dns.exception import DNSException
from dns.resolver import Resolver as DnsResolver

from scrawler.features.push.asker import Asker
from scrawler.features.push.intake import MOST_URLS, Intake, Reply, digest_of
from scrawler.features.push.store.owners import Owner, Owners, SiteReport
from scrawler.features.push.store.pushes import KnownSite
from scrawler.model.windows import SHORTEST, Window, read_window
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import authority, origin

FILE, META, DNS = "file", "meta", "dns"
METHODS = {FILE: "a file", META: "a meta element", DNS: "a DNS TXT record"}
META_NAME = "scrawler-site-verification"
FILE_PATH = "/.well-known/scrawler.txt"
_TXT_LABEL = "_scrawler"
_HOLDS = 30 * 86_400_000  # milliseconds for which a proof holds
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_META = re.compile(rb"<meta\b([^>]{0,2000})>", re.IGNORECASE)
_VALUE = rb"""(?:"([^"]{0,200})"|'([^']{0,200})'|([^\s>"']{1,200}))"""
_CONTENT = re.compile(rb"content\s{0,9}=\s{0,9}" + _VALUE, re.IGNORECASE)
_DNS_TIME = 5.0  # seconds

TxtRecords = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a submission; `problem` says in words why nothing did."""

    reply: Reply
    owner: Owner | None = None


def challenge_of(token: str, host: str) -> str:
    """Return the word that shows, on a site, that it belongs to whoever has the token."""
    return hashlib.sha256(f"scrawler owner {host} {token}".encode()).hexdigest()[:40]


def is_token(text: object) -> bool:
    """Whether a text can be a token of ours: nobody may choose a weak one."""
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def txt_records(name: str) -> list[str]:
    """Ask the DNS for TXT records. Raises DNSException."""
    resolver = DnsResolver()
    resolver.lifetime = _DNS_TIME
    found = resolver.resolve(name, "TXT", search=False)
    return [b"".join(record.strings).decode("utf-8", "replace") for record in found][:100]


def home_of(site: str) -> str:
    """Return the URL at which a site is at home, of what an owner has typed: a URL or a host; empty: it is neither."""
    text = site.strip()
    url = normalise(text if "://" in text else f"https://{text}/").url
    return origin(url) + "/" if url else ""


class OwnerDesk:
    """What owners ask for; any thread may use it."""

    def __init__(self, owners: Owners, intake: Intake, asker: Asker, txt: TxtRecords = txt_records) -> None:
        self._owners = owners
        self._intake = intake
        self._asker = asker
        self._txt = txt

    def site(self, home: str) -> KnownSite | None:
        """Return the site that is at home there, if the crawl knows it and the host speaks for all of it."""
        site = self._intake.site_of(home)
        return site if site is not None and site.key == authority(home).removesuffix(".") else None

    def submit(self, token: str, home: str, method: str, urls: Sequence[str], window: str | None) -> Submitted:
        """Take URLs of an owner, whose proof is looked at first if it is not known, or old.

        `window` is a time of the day as "02:00-05:00", an empty text for any time, None: as it was.
        """
        if not is_token(token):
            return Submitted(Reply(401, "a token is wanted that this page has made"))
        site = self.site(home)
        if site is None:
            return Submitted(Reply(422, "this crawler does not know that site, or the host is not all of it"))
        named = read_window(window) if window else None
        if window and named is None:
            return Submitted(Reply(400, f"a time of the day is 02:00-05:00, UTC, {SHORTEST} minutes at least"))
        owner = self.owner(token)
        if owner is not None and owner.host != authority(home):
            return Submitted(Reply(403, "the token is for another site: take a new one"))
        if owner is None:
            problem = self._prove(token, home, site, method)
            owner = self.owner(token)
            if owner is None:
                return Submitted(Reply(403, problem or "it was not shown that the site is yours"))
        return Submitted(self._take(owner, site, urls, window is not None, named), self.owner(token))

    def _take(self, owner: Owner, site: KnownSite, urls: Sequence[str], changes: bool, window: Window | None) -> Reply:
        if changes and window != owner.window:
            self._owners.set_window(site.id, window)
            site = site._replace(window=window)
        if not urls:
            return Reply(200, "nothing to crawl was given")
        if len(urls) > MOST_URLS:
            return Reply(400, f"more than {MOST_URLS:,} URLs in one message")
        normal = [url for url in (normalise(url).url for url in urls) if url and authority(url) == owner.host]
        if not normal:
            return Reply(422, "none of the URLs is of your site")
        reply = self._intake.take(site, normal, "owner", left_out=len(urls) - len(normal))
        if reply.accepted:
            self._owners.submitted(owner, normal)
        return reply

    def owner(self, token: str) -> Owner | None:
        """Return whose token it is, if the site was shown to be theirs not too long ago."""
        if not is_token(token):
            return None
        owner = self._owners.by_token(digest_of(token))
        return owner if owner is not None and owner.proved_at > time.time() * 1000 - _HOLDS else None

    def report(self, owner: Owner) -> SiteReport:
        """Return how the site of an owner stands."""
        return self._owners.report(owner)

    def _prove(self, token: str, home: str, site: KnownSite, method: str) -> str:
        """Look at the site; return why it does not show whose it is, an empty text if it does."""
        host, challenge = authority(home), challenge_of(token, authority(home))
        proofs = {FILE: self._by_file, META: self._by_meta, DNS: self._by_dns}
        if method not in proofs:
            return "say by what you show that the site is yours: file, meta or dns"
        problem = proofs[method](home, challenge)
        if not problem:
            self._owners.proved(site.id, host, digest_of(token), method)
        return problem

    def _by_file(self, home: str, challenge: str) -> str:
        answer = self._asker.get(home[:-1] + FILE_PATH)
        if answer.status != 200:
            return f"{FILE_PATH}: {answer.problem or f'HTTP status {answer.status}'}"
        lines = answer.body[:4_096].split()
        return "" if _has(lines, challenge) else f"{FILE_PATH} does not hold the word"

    def _by_meta(self, home: str, challenge: str) -> str:
        answer = self._asker.get(home)
        if answer.status != 200:
            return f"the home page: {answer.problem or f'HTTP status {answer.status}'}"
        words: list[bytes] = []
        for attributes in _META.findall(answer.body[: 256 * 1024]):
            if META_NAME.encode() in attributes and (content := _CONTENT.search(attributes)):
                words.append(content[1] or content[2] or content[3] or b"")
        return "" if _has(words, challenge) else f"the home page has no <meta name={META_NAME}> with the word"

    def _by_dns(self, home: str, challenge: str) -> str:
        name = f"{_TXT_LABEL}.{authority(home).partition(':')[0]}"
        try:
            records = [text.strip().encode() for text in self._txt(name)]
        except DNSException as error:
            return f"no TXT record at {name}: {' '.join(str(error).split())[:200]}"
        return "" if _has(records, f"{META_NAME}={challenge}") else f"no TXT record at {name} has the word"


def _has(words: Iterable[bytes], wanted: str) -> bool:
    return any(hmac.compare_digest(word, wanted.encode()) for word in list(words)[:200])
