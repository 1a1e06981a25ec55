"""Standard streams that are closed, full, a terminal, or read by somebody who has seen enough."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, SCRAWLER, TIMEOUT, Rows, Scrawler, environment, error_line, shell, started
from tests.terminals import open_terminal, read_terminal


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl of more seeds than a pipe holds."""
    folder = tmp_path_factory.mktemp("listed")
    with started(folder, "import", "-", stdin=subprocess.PIPE) as running:
        running.communicate("".join(f"http://h{number}.example/\n" for number in range(5000)), timeout=TIMEOUT)
    return folder


@pytest.mark.parametrize("command", ["seeds", "seeds --json", "seeds --csv", "export -", "--help"])
def test_a_reader_who_has_seen_enough_makes_a_list_no_failure(command: str, listed: Path) -> None:
    with started(listed, *command.split()) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: what cannot be written is not tried")
@pytest.mark.parametrize(
    "command",
    ["seeds", "seeds --json", "status", "export -", "report --json", "--help", "--version", "run --no-export"],
)
def test_an_output_that_cannot_be_written_is_one_line(command: str, scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="http://127.0.0.1:2/\n")
    with open("/dev/full", "w") as full, started(tmp_path, *command.split(), stdout=full.fileno()) as running:
        _, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 1
    last = said.splitlines()[-1]
    assert last == "scrawler: error: standard output cannot be written: No space left on device"
    assert "Traceback" not in said


@pytest.mark.parametrize("command", ["export -", "--help", "listen keys add 127.0.0.1:2"])
def test_an_output_that_is_closed_is_one_line(command: str, scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="http://127.0.0.1:2/\n")
    done = shell(f"{SCRAWLER} {command} >&-", tmp_path)
    assert done.returncode == 1
    assert error_line(done) == "standard output cannot be written: it is closed"
    assert len(scrawler("listen", "keys", "list").stdout.splitlines()) == 1  # no key is left that nobody has seen


@pytest.mark.parametrize("machines", ["1", "2"])
def test_streams_that_are_closed_or_full_end_no_crawl_and_spoil_no_file(
    machines: str, scrawler: Scrawler, rows: Rows, seed_file: Path, tmp_path: Path
) -> None:
    words = (*CRAWL, "--machines", machines)
    arguments = " ".join(f"'{word}'" for word in words)
    scrawler("import", seed_file.name)
    assert shell(f"{SCRAWLER} {arguments} <&- >&- 2>&-", tmp_path).returncode == 0
    assert {row["state"] for row in rows("seeds")} == {"done"}
    with (
        open("/dev/full", "w") as full,
        started(tmp_path, *words, "--again", stdout=subprocess.DEVNULL, stderr=full.fileno()) as running,
    ):
        assert running.wait(TIMEOUT) == 0
    assert {row["state"] for row in rows("seeds")} == {"done"}


def test_a_closed_standard_input_holds_no_seeds(tmp_path: Path) -> None:
    done = shell(f"{SCRAWLER} import - <&-", tmp_path)
    assert done.returncode == 3
    assert error_line(done) == "-: no seeds in it"


def test_a_synthetic_web_whose_standard_input_has_ended_stops(tmp_path: Path) -> None:
    done = shell(f"{SCRAWLER} synthweb --port 0 --stop-with-stdin < /dev/null", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_gets_a_live_line_and_messages_above_it(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\nnot a url\n")
    shown, terminal = open_terminal()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    subprocess.run([SCRAWLER, "import", "seeds.txt"], cwd=tmp_path, env=environment(), stderr=terminal, check=True)
    os.close(terminal)
    lines = read_terminal(shown).decode().replace("\r", "\n").splitlines()
    os.close(shown)
    assert any(line.startswith("line 2: no URL") for line in lines)
    assert any(line.startswith("2 seeds read: 1 new, 0 duplicate, 1 invalid [00:0") for line in lines)
    assert "2 seeds read: 1 new, 0 duplicate, 1 invalid" in lines


class _Busy(BaseHTTPRequestHandler):
    """Asks for rest, whatever it is asked for."""

    def do_GET(self) -> None:
        found = self.path != "/robots.txt"
        self.send_response(503 if found else 404)
        self.send_header("Retry-After", "500")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("columns", [60, 160])
def test_the_live_line_says_what_is_waited_for_on_any_terminal(
    columns: int, scrawler: Scrawler, tmp_path: Path
) -> None:
    shown, terminal = open_terminal()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with ThreadingHTTPServer(("127.0.0.1", 0), _Busy) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            scrawler("import", "-", given=f"http://127.0.0.1:{server.server_port}/\n")
            with started(tmp_path, *CRAWL, stderr=terminal) as running:
                os.close(terminal)
                said = b""  # what is read at once may end within a character
                while not re.search(rb"resting: 1 site, next in [\d.]+ (s|min) \[", said):
                    said += os.read(shown, 65_536)
                running.send_signal(signal.SIGINT)
                text = (said + read_terminal(shown)).decode()
                assert running.wait(TIMEOUT) == 0, text
        finally:
            server.shutdown()
            serving.join()
            os.close(shown)
