"""Try SCrawler on each Python that it promises: the demo, and `make test-quick`. `make pythons` does it for all.

An interpreter is taken from this machine, with pyenv's; where there is none, Debian's from a root of its suite, which
debootstrap makes (as root), and for 3.12, which no suite has, the one that the Maven package org.bytedeco:cpython
carries. What cannot be had is told at the end, line by line, and is no failure. Each has a folder of its own, in
~/.cache/scrawler-pythons or in --folder, with a copy of the sources, and its log there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
PACKAGES = ("python3-venv", "python3-dev", "gcc", "libc6-dev", "make", "ca-certificates", "git", "openssl")
MIRROR = "http://deb.debian.org/debian"
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")  # this machine's, which its package index may need
MAVEN = {"3.12": "org.bytedeco:cpython:3.12.1-1.5.10:jar:linux-x86_64"}
SAYS_VERSION = """
import ensurepip, os, sqlite3, ssl, sys, sysconfig, venv
os.stat(sysconfig.get_path("include") + "/Python.h")
print(*sys.version_info[:2], sep=".")
"""
OFFLINE = ("Failed to establish a new connection", "Temporary failure in name resolution", "Read timed out")
# A root sees the machine's processes and terminals while a command runs in it; nothing stays mounted behind it.
IN_ROOT = """
mount --rbind /proc "$0/proc"; mkdir -p "$0/dev/shm" "$0/dev/pts"; mount -t tmpfs tmpfs "$0/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
exec chroot "$0" sh -c 'cd /source && exec "$@"' sh "$@"
"""
INSTALL_SECONDS = 900
DEMO_SECONDS = 180
TEST_SECONDS = 1800


class NotHadError(Exception):
    """Says why an interpreter cannot be had."""


@dataclass
class Interpreter:
    """How commands are run with one, in a copy of the sources."""

    sources: Path
    name: str
    before: tuple[str | Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Tried:
    """What came of one version."""

    version: str
    passed: list[str] = field(default_factory=list)
    left: str = ""
    failed: str = ""

    def line(self) -> str:
        done = f"{' and '.join(self.passed)} passed" if self.passed else ""
        if self.failed:
            return f"{self.version}  {'; '.join(filter(None, (done, f'FAILED: {self.failed}')))}"
        return f"{self.version}  {'; '.join(filter(None, (done, self.left and f'NOT TRIED: {self.left}')))}"


class Trial:
    """Tries one version; `within` says when time is up."""

    def __init__(self, version: str, folder: Path, ends: float) -> None:
        self.told = Tried(version)
        self._version, self._folder, self._ends = version, folder / version, ends
        self._folder.mkdir(parents=True, exist_ok=True)
        self._log = self._folder / "log"
        self._log.write_text("")
        self._interpreter: Interpreter | None = None

    def demo(self) -> None:
        """Get the interpreter, install the package with it, and run the demo."""
        try:
            self._interpreter = one = self._had()
            copy_sources(one.sources)
            self._make(one, ".venv/.installed", self._left(INSTALL_SECONDS))
        except NotHadError as error:
            self.told.left = str(error)
            return
        except subprocess.TimeoutExpired:
            self.told.left = "it could not be installed in the time there was"
            return
        except subprocess.CalledProcessError:
            self._judge("installation")
            return
        self._step("demo", DEMO_SECONDS)

    def tests(self) -> None:
        """Run the unit tests."""
        if self._interpreter is None or self.told.failed or self.told.left:
            return
        if self._ends < time.monotonic() + TEST_SECONDS:
            self.told.left = "make test-quick, for which there was no time (make pythons runs it)"
            return
        self._step("test-quick", TEST_SECONDS)

    def _step(self, target: str, seconds: float) -> None:
        assert self._interpreter is not None
        try:
            self._make(self._interpreter, target, seconds)
            self.told.passed.append(target)
        except subprocess.TimeoutExpired:
            self.told.failed = f"{target} did not end in {seconds} s"
        except subprocess.CalledProcessError:
            self._judge(target)

    def _judge(self, step: str) -> None:
        lines = self._log.read_text(errors="replace").splitlines()[-40:]
        if any(sign in line for line in lines for sign in OFFLINE):
            self.told.left = f"{step}, for which packages could not be fetched"
            return
        print(f"== {self._version}: {step}", *lines, sep="\n", flush=True)
        self.told.failed = f"{step}, see {self._log}"

    def _had(self) -> Interpreter:
        for name in interpreters(self._version):
            return Interpreter(self._folder / "source", name)
        ways: list[Callable[[], Interpreter]] = []
        if self._version in SUITES:
            ways.append(self._debian)
        if self._version in MAVEN:
            ways.append(self._maven)
        why = []
        for way in ways:
            try:
                return way()
            except NotHadError as error:
                why.append(str(error))
        raise NotHadError("; ".join(["none on this machine", *why]))

    def _debian(self) -> Interpreter:
        root, suite = self._folder / "root", SUITES[self._version]
        if os.geteuid() or not shutil.which("debootstrap"):
            raise NotHadError("a root of Debian wants debootstrap and the user root")
        whole = self._folder / "root-is-whole"
        if not whole.exists():
            shutil.rmtree(root, ignore_errors=True)
            script = ("sid",) if not Path(f"/usr/share/debootstrap/scripts/{suite}").exists() else ()
            self._get("debootstrap", "--variant=minbase", suite, root, MIRROR, *script)
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
            packages = "apt-get install -y -qq --no-install-recommends " + " ".join(PACKAGES)
            self._get("chroot", root, "sh", "-c", f"DEBIAN_FRONTEND=noninteractive {packages}")
            whole.touch()
        if TRUSTED.exists():
            shutil.copy(TRUSTED, root / TRUSTED.relative_to("/"))
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        environment = {"PATH": path, "HOME": "/root", "TMPDIR": "/tmp"}
        before = ("unshare", "--mount", "sh", "-ec", IN_ROOT, root)
        return Interpreter(root / "source", f"python{self._version}", before, environment)

    def _maven(self) -> Interpreter:
        if os.uname().machine != "x86_64" or not shutil.which("mvn"):
            raise NotHadError(f"{MAVEN[self._version]} wants Maven and x86-64")
        unpacked = self._folder / "maven"
        place = unpacked / "org/bytedeco/cpython/linux-x86_64"
        program = place / "bin" / f"python{self._version}"
        if not unpacked.exists():
            asked = (f"-Dartifact={MAVEN[self._version]}", f"-DoutputDirectory={self._folder}")
            self._get("mvn", "-q", "-B", "dependency:copy", *asked)
            part = self._folder / "maven.part"
            with zipfile.ZipFile(next(self._folder.glob("cpython-*.jar"))) as archive:
                archive.extractall(part)
            for name in (program, place / program.name):
                (part / name.relative_to(unpacked)).chmod(0o755)
            part.rename(unpacked)
        shutil.copy(place / program.name, program)
        return Interpreter(self._folder / "source", str(program), (), {"LD_LIBRARY_PATH": str(place)})

    def _get(self, *command: str | Path) -> None:
        try:
            self._run(command, self._folder, os.environ, self._left(INSTALL_SECONDS))
        except (subprocess.CalledProcessError, OSError) as error:
            last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise NotHadError(f"{command[0]} failed: {last or error}") from error

    def _make(self, one: Interpreter, target: str, seconds: float) -> None:
        ours = ("PYTHON", "MAKE", "VIRTUAL_ENV")  # what is said of the Python that runs this
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        command = (*one.before, "make", target, f"PYTHON={one.name}")
        self._run(command, one.sources, kept | dict(one.environment), seconds)

    def _run(
        self, command: tuple[str | Path, ...], folder: Path, environment: Mapping[str, str], seconds: float
    ) -> None:
        with (
            self._log.open("a") as log,
            subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ) as process,
        ):
            try:
                code = process.wait(max(seconds, 1))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                raise
        if code:
            raise subprocess.CalledProcessError(code, command)

    def _left(self, most: float) -> float:
        return min(most, self._ends - time.monotonic())


def interpreters(version: str) -> Iterator[str]:
    """Find those of a version on this machine that have all that is needed."""
    places = sorted(Path.home().glob(f".pyenv/versions/{version}.*"), reverse=True)
    names = [shutil.which(f"python{version}"), shutil.which("python3"), *(str(one / "bin/python3") for one in places)]
    for name in filter(None, names):
        asked = subprocess.run([name, "-c", SAYS_VERSION], capture_output=True, text=True)
        if not asked.returncode and asked.stdout.strip() == version:
            yield name


def copy_sources(folder: Path) -> None:
    """Copy what is under version control, as it is now, into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def main() -> int:
    """Try all; the demos side by side, for most of their time is waiting for packages, then the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/scrawler-pythons")
    parser.add_argument("--within", type=float, default=86_400, help="what cannot begin then is not tried")
    parser.add_argument("--above", action="store_true", help="the Python that runs this has had its tests before")
    given = parser.parse_args()
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    above = [Tried(own, ["the tests above"])] if given.above else []
    ends = time.monotonic() + given.within
    trials = [Trial(one, given.folder, ends) for one in given.versions if not (given.above and one == own)]
    with ThreadPoolExecutor(max(len(trials), 1)) as pool:
        list(pool.map(Trial.demo, trials))
    for trial in trials:
        trial.tests()
    told = sorted([*above, *(trial.told for trial in trials)], key=lambda one: one.version)
    print("Pythons:", *(one.line() for one in told), sep="\n  ")
    return int(any(one.failed for one in told))


if __name__ == "__main__":
    sys.exit(main())
