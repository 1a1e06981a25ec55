"""A folder elsewhere that holds copies of an archive: in S3, or wherever else fsspec reaches.

A copy is whole once the digests of its files stand beside it, in a file as `sha256sum` writes it, which comes last. On
object stores a file appears when it is whole; elsewhere it is written under another name first. Keys and passwords come
from the environment, as the tools of each store have it: for S3 AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_ENDPOINT_URL
and so on.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrawler.archive.http_store import http_options
from scrawler.archive.members import open_file
from scrawler.errors import ArchiveError, SettingsError, UnreadableError, message_of

DIGESTS = ".sha256"  # the end of the name of the file that says that a copy is whole
_WRITTEN = ".part"  # the end of the names of files that are being written, where names do not come last
_READ = 1 << 20  # bytes that are read of a file here at a time
_PART = 8 << 20  # bytes that go, and come, in one request
_MOST_PARTS = 9_000  # of one object; S3 takes 10,000
_LONGEST_MESSAGE = 300
_GAP = 1 << 18  # bytes that are passed by, and still it is read on: requests and metadata stand between answers
_FILES = 4  # files of which something is held: machines write one each, and their pages come by turns
_ENDLESS = 1 << 62
_OBJECT_STORES = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "memory"))
# The servers that a URL names itself; object stores are where the environment says. Others of fsspec's schemes lead to
# further URLs, unpack, or run programs, and a file of settings may come from somebody else.
_SERVERS = frozenset(("http", "https", "ftp", "sftp", "ssh", "smb", "hdfs", "webhdfs", "webdav", "dav", "davs"))
_HERE = "file"
_OPTIONS: dict[str, dict[str, Any]] = {  # the copier has patience of its own, and wants to hear of a stop
    "s3": {"config_kwargs": {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 2}}},
}
_READ_MISSING = (
    "the package for it is not installed: pip install 'seed-scrawler[remote]' brings that for s3:// and file://"
)


def no_address(address: str) -> bool:
    """Let no server be asked."""
    return False


class RemoteError(ArchiveError):
    """A place elsewhere does not answer, or refuses (exit code 5)."""


class StoppedError(Exception):
    """A copy was given up because the user wants the end; nothing of it counts."""


class Copied(NamedTuple):
    """A file that was written elsewhere."""

    bytes: int
    sha256: str  # hexadecimal


def never() -> bool:
    """Say that nobody wants an end."""
    return False


class Remote:
    """A folder elsewhere, by its URL; any thread may use it. Nothing is asked before the first call.

    A server that the URL names is asked where it `may_ask` each of its addresses. Raises SettingsError where the URL
    names nothing that can be reached from this installation.
    """

    def __init__(self, url: str, may_ask: Callable[[str], bool] = no_address) -> None:
        self.url = url.rstrip("/")
        self._may_ask = may_ask
        parts = urlsplit(url)
        scheme = parts.scheme
        if scheme not in _OBJECT_STORES | _SERVERS | {_HERE}:
            raise SettingsError(f"{self.url}: copies of an archive can be kept at s3://, file:// and the like alone")
        self._server = (parts.hostname or "") if scheme in _SERVERS else None  # to be looked at before it is asked
        self._is_here = scheme == _HERE
        try:
            fsspec = import_module("fsspec")
            options = http_options(may_ask) if scheme in ("http", "https") else _OPTIONS.get(scheme, {})
            made = fsspec.core.url_to_fs(self.url, use_listings_cache=False, **options)
        except ImportError as error:
            raise SettingsError(f"{self.url}: {_READ_MISSING}") from error
        except (ValueError, TypeError, OSError) as error:
            raise SettingsError(f"{self.url}: {_in_short(error)}") from error
        self._files: Any = made[0]
        self._root = str(made[1]).rstrip("/")
        self._in_one = scheme in _OBJECT_STORES

    def sizes(self) -> dict[str, int]:
        """Return the size of each file in the folder by its name; of one that is not there yet, nothing.

        Raises RemoteError.
        """
        with self._mapped("list"):
            try:
                found = self._files.ls(self._root, detail=True)
            except FileNotFoundError:
                return {}
            files = (one for one in found if one["type"] == "file")
            return {one["name"].rpartition("/")[2]: int(one["size"]) for one in files}

    def check(self) -> None:
        """See that the folder can be listed. Raises RemoteError."""
        bucket = self._root.partition("/")[0]
        with self._mapped("list"):
            try:
                self._files.ls(self._root, detail=True)
            except FileNotFoundError:
                if self._in_one and self._root != bucket:
                    self._files.ls(bucket, detail=True)  # raises as well where the bucket is none
                elif self._in_one:
                    raise

    def size(self, name: str) -> int | None:
        """Return the size of a file, None where there is none. Raises RemoteError."""
        with self._mapped(f"find {name} in"):
            try:
                return int(self._files.info(self._path(name))["size"])
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return bytes of a file, fewer at its end. Raises FileNotFoundError, RemoteError."""
        with self._mapped(f"read {name} in", may_miss=True):
            if self._is_here and not os.path.isfile(self._path(name)):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))  # a pipe would keep its reader
            data: bytes = self._files.cat_file(self._path(name), start=offset, end=offset + length)
        return data

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield what is in a file, some at a time. Raises RemoteError, also where there is none."""
        size = self.size(name)
        if size is None:
            raise RemoteError(f"{self.url}/{name} is not there")
        file = RemoteFile(self, name, size)
        while data := file.read(_PART):
            yield data

    def digests(self, name: str) -> dict[str, str]:
        """Return the digests that stand beside a copy by the names of its files; none where it is not whole.

        Raises RemoteError.
        """
        try:
            text = self.read(name + DIGESTS, 0, 1 << 16).decode("utf-8", "replace")
        except FileNotFoundError:
            return {}
        pairs = (line.split(None, 1) for line in text.splitlines())
        return {pair[1].lstrip("*"): pair[0] for pair in pairs if len(pair) == 2}

    def write_digests(self, name: str, digests: dict[str, str]) -> None:
        """Say that a copy is whole. Raises RemoteError."""
        text = "".join(f"{digest}  {file}\n" for file, digest in digests.items())
        self._write(name + DIGESTS, iter([text.encode()]), len(text))

    def remove_digests(self, name: str) -> None:
        """Say that a copy is not whole any more. Raises RemoteError."""
        with self._mapped(f"change {name} in"), suppress(FileNotFoundError):
            self._files.rm_file(self._path(name + DIGESTS))

    def copy(
        self, path: Path, stopping: Callable[[], bool] = never, went: Callable[[int], None] = lambda number: None
    ) -> Copied:
        """Write a file there under its own name, part by part; `went` is told how many bytes went each time.

        What is there in the end has the file's size, or RemoteError is raised. Raises StoppedError once `stopping`,
        UnreadableError where the file cannot be read.
        """
        digest, size = hashlib.sha256(), 0

        def parts() -> Iterator[bytes]:
            nonlocal size
            try:
                with open_file(path) as file:
                    while data := file.read(_READ):
                        if stopping():
                            raise StoppedError
                        digest.update(data)
                        size += len(data)
                        yield data
                        went(len(data))
            except OSError as error:
                raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from error

        try:
            size_now = path.stat().st_size
        except OSError as error:
            raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from error
        self._write(path.name, parts(), size_now)
        if (there := self.size(path.name)) != size:
            raise RemoteError(f"{self.url}/{path.name} has {there} bytes after {size} were written")
        return Copied(size, digest.hexdigest())

    def _write(self, name: str, parts: Iterator[bytes], size: int) -> None:
        target = self._path(name)
        written = target if self._in_one else f"{target}.{os.urandom(4).hex()}{_WRITTEN}"
        with self._mapped(f"write {name} in"):
            if not self._in_one:
                self._files.makedirs(self._root, exist_ok=True)
            out = self._files.open(written, "wb", block_size=max(_PART, -(-size // _MOST_PARTS)))
            try:
                for part in parts:
                    out.write(part)
                if not self._in_one:
                    _sync(out)
                out.close()
                if written != target:
                    self._files.mv(written, target)
            except BaseException:
                self._give_up(out, written)
                raise

    def _give_up(self, out: Any, written: str) -> None:
        """Leave nothing of what was written: to close an object is to say that it is whole."""
        if self._in_one:
            with suppress(Exception):
                out.discard()
            out.closed = True
            return
        with suppress(Exception):  # a full disk refuses what is held yet
            out.close()
        with suppress(Exception):
            self._files.rm_file(written)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _mapped(self, what: str, may_miss: bool = False) -> Iterator[None]:
        try:
            self._look_at_server()
            yield
        except (ArchiveError, SettingsError, StoppedError):
            raise
        except Exception as error:
            if may_miss and isinstance(error, FileNotFoundError):
                raise
            raise RemoteError(f"cannot {what} {self.url}: {_in_short(error)}") from error

    def _look_at_server(self) -> None:
        """Raise SettingsError, once, where the server of the URL has an address that may not be asked."""
        if self._server is None:
            return
        refused = [address for address in addresses_of(self._server) if not self._may_ask(address)]
        if refused:
            raise SettingsError(
                f"{self.url} is at the private address {refused[0]}: --allow-addresses, SCRAWLER_ALLOW_ADDRESSES or"
                " allow_addresses in scrawler.toml lets it be asked"
            )
        self._server = None


def addresses_of(host: str) -> list[str]:
    """Return the addresses of a host. Raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def _sync(out: Any) -> None:
    """Let what was written survive a power cut before it gets its name, where the store knows of that."""
    out.flush()
    with suppress(Exception):
        os.fsync(out.fileno())


def _in_short(error: BaseException) -> str:
    return (message_of(error) or type(error).__name__)[:_LONGEST_MESSAGE]


class RemoteFile:
    """One file elsewhere, read as a file of this host is; used by one thread.

    Who reads on where he was is given 8 MiB at a time; who reads here and there, no more than he wants.
    """

    def __init__(self, remote: Remote, name: str, size: int = _ENDLESS) -> None:
        self.size = size
        self._remote = remote
        self._name = name
        self._at = 0
        self._start = 0  # of what is held
        self._held = b""

    def read_at(self, length: int, offset: int) -> bytes:
        """Return bytes from an offset on, fewer at the end of the file. Raises FileNotFoundError, RemoteError."""
        length = max(0, min(length, self.size - offset))
        end = self._start + len(self._held)
        if not self._start <= offset <= offset + length <= end:
            goes_on = bool(self._held) and self._start <= offset <= end + _GAP
            wanted = min(max(length, _PART), self.size - offset) if goes_on else length
            try:
                self._held, self._start = self._remote.read(self._name, offset, wanted), offset
            except FileNotFoundError as error:
                if self.size == _ENDLESS:
                    raise
                raise RemoteError(f"{self._remote.url}/{self._name} is gone since it was listed") from error
        at = offset - self._start
        return self._held[at : at + length]

    def seek(self, offset: int) -> int:
        """Go on reading at an offset; return it."""
        self._at = offset
        return offset

    def read(self, length: int) -> bytes:
        """Return the next bytes. Raises as `read_at` does."""
        data = self.read_at(length, self._at)
        self._at += len(data)
        return data

    def tell(self) -> int:
        """Return where it is read on."""
        return self._at


class RemoteRecords:
    """Reads records of files elsewhere, and keeps of the last files what was read ahead; used by one thread."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self._files: dict[str, RemoteFile] = {}

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return bytes of a file. Raises FileNotFoundError, RemoteError."""
        file = self._files.pop(name, None) or RemoteFile(self.remote, name)
        while len(self._files) >= _FILES:
            del self._files[next(iter(self._files))]
        self._files[name] = file  # the last one that was used comes last
        return file.read_at(length, offset)
