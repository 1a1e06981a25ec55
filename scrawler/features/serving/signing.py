"""Requests that are signed (RFC 9421, HMAC with SHA-256): a key for each crawler, and no signature counts twice.

A signature covers method, authority, path and query, says when it was made, and has a nonce. It is good for some
minutes, in which its nonce is remembered; when there are more of them than there is room for, nothing signed is let in
until the oldest are over, for to forget one would let it in again.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scrawler.errors import ScrawlerError
from scrawler.regular import open_regular

COVERED = ("@method", "@authority", "@path", "@query")
TAG = "scrawler"
GOOD_FOR_S = 300
_SKEW_S = 60  # by which clocks may differ
_SHORTEST_KEY = 16  # bytes
_MOST_NONCES = 200_000
_LONGEST_NONCE = 128
_LONGEST_HEADER = 4_096


class KeyFileError(ScrawlerError):
    """The file with the keys cannot be used."""


class Refused(Exception):
    """A signature is missing, or does not hold; the text says why, without a word of the key."""


class SignedMessage(NamedTuple):
    """A request as the library wants it: `headers` has the field lines in order."""

    method: str
    url: str
    headers: Any


class FieldLines:
    """The header field lines of a request."""

    def __init__(self, lines: Iterable[tuple[str, str]]) -> None:
        self._lines = list(lines)

    def items(self) -> list[tuple[str, str]]:
        """Return all lines."""
        return self._lines


def read_keys(path: Path) -> dict[str, bytes]:
    """Read keys, one a line: its id and base64. Raises KeyFileError."""
    try:
        with open_regular(path) as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeyFileError(f"{path} holds keys and others may read it: chmod 600 {path}")
            lines = file.read().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"cannot read the keys in {path}: {error}") from error
    keys: dict[str, bytes] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            name, text = words
            keys[name] = base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            raise KeyFileError(
                f"{path}, line {number}: write the id of a key, a space, and the key in base64"
            ) from None
        if len(keys[name]) < _SHORTEST_KEY:
            raise KeyFileError(
                f"{path}, line {number}: a key has {_SHORTEST_KEY} bytes at least: openssl rand -base64 32"
            )
    if not keys:
        raise KeyFileError(f"{path} holds no key")
    return keys


class Nonces:
    """Remembers the nonces of signatures for as long as these are good."""

    def __init__(self, most: int = _MOST_NONCES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._until: OrderedDict[tuple[str, str], float] = OrderedDict()

    def take(self, key_id: str, nonce: str) -> None:
        """Take a nonce that is used now. Raises Refused if it was used before, or too many are."""
        now = self._clock()
        with self._lock:
            while self._until and next(iter(self._until.values())) <= now:
                self._until.popitem(last=False)
            if (key_id, nonce) in self._until:
                raise Refused("this signature was used already")
            if len(self._until) >= self._most:
                raise Refused("too many signed requests: come back in some minutes")
            self._until[key_id, nonce] = now + GOOD_FOR_S + 2 * _SKEW_S


class Verifier:
    """Judges the signatures of requests to one site."""

    def __init__(self, keys: Mapping[str, bytes], nonces: Nonces | None = None) -> None:
        """Know `keys` by their ids."""
        from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms

        class Resolver(HTTPSignatureKeyResolver):
            def resolve_public_key(self, key_id: str) -> bytes:
                return keys[key_id]

            def resolve_private_key(self, key_id: str) -> bytes:
                return keys[key_id]

        self._verifier = HTTPMessageVerifier(signature_algorithm=algorithms.HMAC_SHA256, key_resolver=Resolver())
        self._nonces = Nonces() if nonces is None else nonces

    def judge(self, message: SignedMessage) -> str:
        """Return the id of the key that has signed a request. Raises Refused."""
        lines = message.headers.items()
        told = [value for name, value in lines if name.lower() in ("signature", "signature-input")]
        if not told:
            raise Refused("it is not signed")
        if sum(map(len, told)) > _LONGEST_HEADER:
            raise Refused("its signature is too long")
        try:
            found = self._verifier.verify(
                message,
                max_age=datetime.timedelta(seconds=GOOD_FOR_S),
                expect_tag=TAG,
                require_components=COVERED,
            )
            parameters = found[0].parameters
            key_id, nonce = str(parameters["keyid"]), str(parameters.get("nonce", ""))
            created = int(parameters.get("created", 0))
        except Exception as error:  # the library's own errors, and what a strange header raises in it
            raise Refused("its signature does not hold") from error
        if not nonce or len(nonce) > _LONGEST_NONCE:
            raise Refused("its signature has no nonce, or one that is too long")
        if created > time.time() + _SKEW_S or len(found) != 1:
            raise Refused("its signature does not hold")
        self._nonces.take(key_id, nonce)
        return key_id


def signature_headers(method: str, url: str, key_id: str, key: bytes) -> dict[str, str]:
    """Sign a request; return the headers that say so."""
    import secrets

    from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms

    class Resolver(HTTPSignatureKeyResolver):
        def resolve_public_key(self, key_id: str) -> bytes:
            return key

        def resolve_private_key(self, key_id: str) -> bytes:
            return key

    headers: dict[str, str] = {}
    signer = HTTPMessageSigner(signature_algorithm=algorithms.HMAC_SHA256, key_resolver=Resolver())
    now = datetime.datetime.now(datetime.UTC)
    signer.sign(
        SignedMessage(method, url, headers),
        key_id=key_id,
        created=now,
        expires=now + datetime.timedelta(seconds=GOOD_FOR_S),
        nonce=secrets.token_urlsafe(16),
        tag=TAG,
        covered_component_ids=COVERED,
    )
    return headers
