"""The command line when something is wrong: one clear line, and an exit code that says what kind of thing."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import sqlite3
import struct
import subprocess
import sys
import termios
from contextlib import closing
from pathlib import Path

import pytest

from scrawler import __version__
from scrawler.errors import StoreError
from scrawler.store.crawls import Crawls
from scrawler.store.engine import open_database
from scrawler.store.machines import Machines
from tests.e2e.conftest import CRAWL, SCRAWLER, TIMEOUT, Rows, Scrawler, environment


def _said(done: subprocess.CompletedProcess[str]) -> str:
    last = done.stderr.splitlines()[-1]
    assert last.startswith("scrawler: error: ")
    assert "Traceback" not in done.stderr
    return last.removeprefix("scrawler: error: ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", "--threads", "0"), 2, "--threads 0 is not allowed, only a whole number, 1 to 1000"),
        (("run", "--config", "nowhere.toml"), 2, "nowhere.toml: no such file"),
        (("run", "--retry", "dead,completed"), 2, "--retry completed is not allowed, only dead, no-address, "),
        (("run", "--accept", "html"), 2, "--accept html is not allowed, only media types such as text/html"),
        (("run", "--normalise", "www,x"), 2, "--normalise www,x is not allowed, only steps among percent-case, "),
        (("run", "--allow-addresses", "10.0.0.1/8"), 2, "10.0.0.1/8 is not allowed, only addresses such as ::1, or"),
        (("run", "--patience", "soon"), 2, "--patience soon is not allowed, only a time such as 90, 5m or 2h, 0s to"),
        (("synthweb", "--sites", "0"), 2, "synthetic web: sites is 0, must be between 1 and"),
        (("import", "nowhere.txt"), 3, "nowhere.txt: no such file"),
        (("import", "empty.txt"), 3, "empty.txt: no seeds in it"),
        (("import", "comments.txt"), 3, "comments.txt: no seeds in it"),
        (("import", "bad.txt"), 3, "bad.txt: no usable seed in it, all 2 lines are invalid"),
        (("import", "binary.txt"), 3, "binary.txt: a binary file"),
        (("import", "broken.gz"), 3, "broken.gz: broken archive"),
        (("import", "cut.zst"), 3, "cut.zst: broken archive (it ends before its last frame does)"),
        (("import", "seeds.parquet"), 3, "seeds.parquet: seeds are read from .txt, .csv and .jsonl"),
        (("import", "links.csv"), 3, "no column 'url'"),
        (("import", "."), 3, ".: cannot be read: Is a directory"),
        (("pages", "--seed", "http://a.example/"), 4, "there is no database"),
        (("status", "--db", "sqlite:///nowhere/x.db"), 4, "nowhere"),
        (("status", "--db", "oracle://x"), 4, "no such kind of database: oracle"),
        (("status", "--db", "nonsense"), 4, "--db: the database URL cannot be read; use sqlite:///path or mysql"),
        (("plan", "--from", "nonsense"), 4, "--from: the database URL cannot be read; use sqlite:///path or mysql"),
        (("status", "--db", "mysql://u:secret@127.0.0.1:1/x"), 4, "cannot be reached"),
        (("status", "--db", "mysql://u:secret@127.0.0.1:1"), 4, "the database URL names no database"),
        (("status", "--db", "mysql://u:p@secret@127.0.0.1:1/x"), 4, "holds an @; write %40 for it"),
        (("status", "--db", "mysql://u:p/secret@secret@127.0.0.1:1/x"), 4, "holds an @; write %40 for it"),
        (("status", "--db", "mysql://u@127.0.0.1:1/x?password=secret"), 4, "u@127.0.0.1:1/x cannot be reached"),
        (("status", "--db", "mysql://u:secret@127.0.0.1:1/x?foo=1"), 4, "parameters (foo) that cannot be used"),
        (("status", "--db", "mysql://u:p@127.0.0.1:1/x?connect_timeout=z"), 4, "(connect_timeout) that cannot be used"),
        (("status", "--db", "mysql://u:p@127.0.0.1:1/x?ssl_ca=/nowhere"), 4, "(ssl_ca) that cannot be used"),
        (
            ("import", "comments.txt", "--db", "sqlite:///x.db?timeout=1"),
            4,
            "takes no parameters, and here stand timeout",
        ),
        (("status", "--db", "sqlite:///x%00y.db"), 4, "no path of a database holds a NUL: 'x\\x00y.db'"),
        (("status", "--db", f"sqlite:///{'x' * 5000}"), 4, "cannot be opened: File name too long"),
        (("status", "--db", f"sqlite:///{'x/' * 2500}x.db"), 4, "cannot be opened: File name too long"),
        (("status", "--config", "x" * 5000), 2, "not readable as TOML: File name too long"),
        (("set", "delay=1", "threads=2", "delay=2"), 2, "delay is given twice"),
        (("import", "mysql://u:p/secret@secret@h/x"), 3, "mysql://u:***@h/x: no such file"),
        (("import", "comments.txt", "--rejects", "x" * 300), 1, "File name too long"),
        (("run", "--pages-dir", "x" * 300, "--db", "sqlite:///there.db"), 5, "File name too long"),
        (("import", "new\nline.txt"), 3, r"new\nline.txt: no such file"),
    ],
)
def test_errors_are_one_line_and_a_code(
    arguments: tuple[str, ...], code: int, words: str, scrawler: Scrawler, tmp_path: Path
) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "comments.txt").write_text("# nothing\n\n")
    (tmp_path / "bad.txt").write_text("not a url\nftp://a.example/\n")
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b\x08oops")
    (tmp_path / "cut.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04")
    (tmp_path / "seeds.parquet").write_text("PAR1")
    (tmp_path / "links.csv").write_text("link\nhttp://a.example/\n")
    if "sqlite:///there.db" in arguments:
        scrawler("db", "init", "--db", "sqlite:///there.db")
    done = scrawler(*arguments, code=code)
    assert words in _said(done)
    assert "secret" not in done.stderr


def test_settings_from_the_environment_and_the_file_are_checked_by_every_command(
    scrawler: Scrawler, tmp_path: Path
) -> None:
    assert "SCRAWLER_THREADS=many" in _said(scrawler("status", code=2, SCRAWLER_THREADS="many"))
    (tmp_path / "scrawler.toml").write_text("treads = 5")
    assert "unknown key 'treads'; did you mean threads?" in _said(scrawler("status", code=2))


def test_without_a_command_there_is_help(scrawler: Scrawler) -> None:
    for group, commands in (((), ("import", "run")), (("db",), ("init", "upgrade"))):
        done = scrawler(*group, code=2)
        lines = done.stderr.splitlines()
        assert lines[0].startswith("Usage: scrawler")
        assert "error" not in lines[0]
        assert {line.split()[0] for line in lines if line.startswith("  ")}.issuperset(commands)


@pytest.mark.parametrize(
    ("arguments", "command", "words"),
    [
        (("fly",), "scrawler", "No such command 'fly'"),
        (("run", "--thread", "2"), "scrawler run", "No such option"),
        (("pages",), "scrawler pages", "Missing option '--seed'"),
        (("import",), "scrawler import", "Missing argument 'FILE'"),
        (("seeds", "--state", "asleep"), "scrawler seeds", "Invalid value for '--state': 'asleep' is not one of "),
        (("seeds", "--db", "sqlite:///x", "promote"), "scrawler seeds", "options of `seeds promote` stand behind it"),
        (("seeds", "--csv", "--json"), "scrawler seeds", "--json and --csv are two forms: give one of them"),
        (("import", "x", "--rejects", ""), "scrawler import", "Invalid value for '--rejects': it is empty"),
        (("export", ""), "scrawler export", "Invalid value for '[FILE]': it is empty"),
        (("synthweb", "--traps", "--faults"), "scrawler synthweb", "--traps and --faults are two webs: give one of"),
        (("synthweb", "--port", "65536"), "scrawler synthweb", "Invalid value for '--port': 65536 is not in the "),
    ],
)
def test_wrong_usage_is_code_2_and_how_to_use_it(
    arguments: tuple[str, ...], command: str, words: str, scrawler: Scrawler
) -> None:
    done = scrawler(*arguments, code=2)
    usage, error = done.stderr.splitlines()
    assert usage.startswith(f"Usage: {command} [OPTIONS]")
    assert error.startswith(f"scrawler: error: {words}")
    assert error.endswith(f"; see `{command} --help`")
    assert ".;" not in error


def test_an_unreadable_file(scrawler: Scrawler, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("http://a.example/\n")
    file.chmod(0)
    if os.access(file, os.R_OK):
        file.unlink()
        file.symlink_to("/proc/self/mem")  # root reads any file but this one
    assert "cannot be read" in _said(scrawler("import", "secret.txt", code=3))


def test_a_bad_line_is_no_error_and_rejects_has_it(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    given = "http://a.example/\n" + "x" * 10_000_000 + "\nhttp://user:pass@b.example/\n"
    done = scrawler("import", "-", "--rejects", "-", "--db", "sqlite:///other.db", given=given)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["2", "3"]
    done = scrawler("import", "-", "--rejects", "bad.tsv", given=given)
    assert "line 2: line longer than" in done.stderr
    assert "3 seeds read: 1 new, 0 duplicate, 2 invalid" in done.stderr
    assert [line.split("\t")[0] for line in (tmp_path / "bad.tsv").read_text().splitlines()] == ["2", "3"]
    assert [row["url"] for row in rows("seeds")] == ["http://a.example/"]


def test_no_file_that_is_needed_is_written_over(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    """Neither the seed file, by whatever name, nor the database."""
    seeds = tmp_path / "input_urls" / "seeds.txt"
    seeds.parent.mkdir()
    seeds.write_text("http://a.example/\nno url\n")
    (tmp_path / "hard").hardlink_to(seeds)
    (tmp_path / "soft").symlink_to(seeds)
    for rejects in ("input_urls/seeds.txt", "hard", "soft"):
        said = _said(scrawler("import", "seeds.txt", "--rejects", rejects, code=2))
        assert said == f"--rejects {rejects} is the seed file itself, and would be overwritten"
    with seeds.open() as given:
        command = [SCRAWLER, "import", "-", "--rejects", "hard"]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), stdin=given, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "is the seed file itself" in done.stderr) == (2, True)
    assert seeds.read_text() == "http://a.example/\nno url\n"
    scrawler("import", "seeds.txt", "--rejects", "rejects")
    for command in (
        ("import", "seeds.txt", "--rejects", "scrawler.db"),
        ("export", "scrawler.db", "--format", "txt"),
        ("report", "--html", "scrawler.db"),
    ):
        assert "scrawler.db is the crawl's database: write to another file" in _said(scrawler(*command, code=2))
    (tmp_path / "own.toml").write_text("threads = 2\n")
    (tmp_path / "pages").mkdir()
    for file, words in (
        ("scrawler.db-wal", "is the crawl's database"),
        ("scrawler.db-journal", "is the crawl's database"),
        ("pages/crawl-1-00001.warc.gz", "is a file of an archive by its name"),
        ("pages/crawl-1.lock", "is a file of an archive by its name"),
        ("own.toml", "is the file of the settings"),
    ):
        said = _said(scrawler("import", "seeds.txt", "--rejects", file, "--config", "own.toml", code=2))
        assert said.startswith(f"{file} {words}")
    assert (tmp_path / "own.toml").read_text() == "threads = 2\n"
    assert [row["url"] for row in rows("seeds")] == ["http://a.example/"]


def test_no_file_of_the_archive_is_written_over_by_another_name(scrawler: Scrawler, tmp_path: Path) -> None:
    """A hard link has a path of its own; and a crawl may have kept pages in another folder than the one in use now."""
    (tmp_path / "seeds.txt").write_text("http://a.example/\nno url\n")
    scrawler("import", "seeds.txt")
    with closing(open_database(f"sqlite:///{tmp_path}/scrawler.db")) as database:
        machine = Machines(database).register("here", 1, 0).id
        Crawls(database).begin_run(machine, {"pages_dir": str(tmp_path / "elsewhere")})
    for number, file in enumerate(
        ("pages/crawl-1.warc.gz", "elsewhere/crawl-1.warc.gz.damaged", "pages/crawl-1.cdxj", "elsewhere/crawl-1.lock")
    ):
        needed, other = tmp_path / file, f"other-{number}"
        needed.parent.mkdir(exist_ok=True)
        needed.write_text(file)
        (tmp_path / other).hardlink_to(needed)
        for command in (
            ("import", "seeds.txt", "--rejects", other),
            ("export", other, "--format", "txt"),
            ("report", "--html", other),
        ):
            said = _said(scrawler(*command, code=2))
            assert said.startswith(f"{other} is a file of the archive by another name")
        assert needed.read_text() == file


def test_an_export_of_an_unknown_kind_is_refused_before_anything_is_written(scrawler: Scrawler, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    scrawler("import", "seeds.txt")
    assert "only .txt, .csv and .jsonl" in _said(scrawler("export", "out.parquet", code=2))
    assert not (tmp_path / "out.parquet").exists()
    scrawler("export", "out.parquet", "--format", "txt")
    assert (tmp_path / "out.parquet").read_text() == "http://a.example/\n"


def test_a_user_agent_without_a_contact_is_warned_about(scrawler: Scrawler) -> None:
    for machines in ("1", "2"):
        said = scrawler("run", "--no-export", "--user-agent", "Bot/1.0", "--machines", machines).stderr
        assert said.count("has no contact") == 1
    assert "has no contact" not in scrawler(*CRAWL, "--no-export").stderr


def test_a_crawl_that_checks_no_certificates_is_warned_about(scrawler: Scrawler) -> None:
    assert scrawler("run", "--no-export", "--insecure").stderr.count("certificates of https sites are not checked") == 1
    assert "certificates" not in scrawler(*CRAWL, "--no-export").stderr


def test_a_reader_that_goes_away_is_no_error(scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="".join(f"http://h{number}.example/\n" for number in range(5000)))
    with subprocess.Popen(
        [SCRAWLER, "seeds", "--json"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().startswith("{")
        running.stdout.close()
        assert running.stderr.read() == ""


@pytest.mark.parametrize("command", ["seeds", "seeds --json", "seeds --csv", "export -", "--help"])
def test_a_reader_who_has_seen_enough_makes_a_list_no_failure(command: str, scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="".join(f"http://h{number}.example/\n" for number in range(5000)))
    done = _shell(f"{SCRAWLER} {command} | read line; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert (done.stdout, done.stderr) == ("0\n", "")


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: what cannot be written is not tried")
@pytest.mark.parametrize(
    "command",
    ["seeds", "seeds --json", "status", "export -", "report --json", "--help", "--version", "run --no-export"],
)
def test_an_output_that_cannot_be_written_is_one_line(command: str, scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="http://127.0.0.1:2/\n")
    done = _shell(f"{SCRAWLER} {command} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert _said(done) == "standard output cannot be written: No space left on device"


@pytest.mark.parametrize("closed", ["2>/dev/full", "<&- >&- 2>&-"])
@pytest.mark.parametrize("machines", ["1", "2"])
def test_streams_that_are_closed_or_full_end_no_crawl_and_spoil_no_file(
    closed: str, machines: str, scrawler: Scrawler, rows: Rows, seed_file: Path, tmp_path: Path
) -> None:
    scrawler("import", seed_file.name)
    arguments = " ".join(f"'{word}'" for word in (*CRAWL, "--machines", machines))
    assert _shell(f"{SCRAWLER} {arguments} {closed}", tmp_path).returncode == 0
    assert {row["state"] for row in rows("seeds")} == {"done"}


def test_a_closed_standard_input_holds_no_seeds(tmp_path: Path) -> None:
    done = _shell(f"{SCRAWLER} import - <&-", tmp_path)
    assert done.returncode == 3
    assert _said(done) == "-: no seeds in it"


@pytest.mark.parametrize("machines", ["1", "2"])
def test_too_few_files_are_told_before_hosts_seem_dead_for_want_of_them(
    machines: str, scrawler: Scrawler, rows: Rows, tmp_path: Path
) -> None:
    scrawler("import", "-", given="http://a.example/\n")
    done = _shell(f"ulimit -n 60; {SCRAWLER} run --machines {machines}", tmp_path)
    assert done.returncode == 2
    assert "may have 60 files and sockets open, and 20 threads of 10 seeds need 424: raise the limit" in _said(done)
    assert [row["state"] for row in rows("seeds")] == ["ready"]
    assert _shell(f"ulimit -n 100; {SCRAWLER} run --threads 2 --seeds-per-thread 4", tmp_path).returncode == 0


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY, reason="stacks may not be that large here"
)
def test_an_import_without_room_for_a_thread_is_one_line(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    scrawler("db", "init")
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    # Stacks of 4 GiB: the first thread has no room, and all else has.
    done = _shell(f"ulimit -s 4194304; ulimit -v 2097152; {SCRAWLER} import seeds.txt", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "scrawler: error: the system has no room for another thread (can't start new thread); allow more"
        " (ulimit -u, ulimit -v)\n"
    )
    assert rows("seeds") == []


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("verify --pages-dir NAME", 5, "cannot read NAME: "),
        ("export NAME.txt", 1, "NAME.txt: "),
        ("export NAME/a.txt", 1, "NAME/a.txt: "),
        ("export --output-dir NAME", 1, "NAME/crawl.txt: "),
        ("import seeds.txt --rejects NAME", 1, "NAME: "),
        ("import seeds.txt --rejects NAME/a", 1, "NAME/a: "),
        ("import NAME", 3, "NAME: cannot be read: "),
        ("import nowhere.txt --input-dir NAME", 3, "NAME/nowhere.txt: cannot be read: "),
        ("plan NAME", 3, "NAME: cannot be read: "),
        ("report --html NAME", 1, "NAME: "),
        ("status --config NAME", 2, "NAME: not readable as TOML: "),
        ("status --db sqlite:///NAME", 4, "--db: database 'NAME' cannot be opened: "),
        (
            "synthweb --port 0 --stop-with-stdin --seeds-file NAME",
            1,
            "synthetic web: cannot write the seeds file NAME: ",
        ),
        ("synthweb --port 0 --stop-with-stdin --log NAME", 1, "synthetic web: cannot write the log NAME: "),
    ],
)
def test_a_name_that_is_too_long_is_one_line_wherever_it_stands(
    command: str, code: int, said: str, scrawler: Scrawler, tmp_path: Path
) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    scrawler("import", "seeds.txt")
    name = "x" * 300
    done = scrawler(*command.replace("NAME", name).split(), code=code, given="")
    assert done.stderr == f"scrawler: error: {said.replace('NAME', name)}File name too long\n"


def test_a_synthetic_web_whose_standard_input_has_ended_stops(tmp_path: Path) -> None:
    done = _shell(f"{SCRAWLER} synthweb --port 0 --stop-with-stdin < /dev/null", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_gets_a_live_line_and_messages_above_it(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\nnot a url\n")
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    subprocess.run([SCRAWLER, "import", "seeds.txt"], cwd=tmp_path, env=environment(), stderr=terminal, check=True)
    os.close(terminal)
    lines = os.read(shown, 65_536).decode().replace("\r", "\n").splitlines()
    os.close(shown)
    assert any(line.startswith("line 2: no URL") for line in lines)
    assert any(line.startswith("2 seeds read: 1 new, 0 duplicate, 1 invalid [00:0") for line in lines)
    assert "2 seeds read: 1 new, 0 duplicate, 1 invalid" in lines


def test_a_mistake_in_the_program_shows_its_traceback(tmp_path: Path) -> None:
    program = (
        "import sys; import scrawler.cli.status as s; s.print_pairs = None; sys.argv = ['scrawler', 'status']\n"
        "from scrawler.cli import main; main()"
    )
    subprocess.run([SCRAWLER, "db", "init"], cwd=tmp_path, env=environment(), check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "TypeError" in done.stderr


def test_help_names_the_exit_codes_and_every_setting_has_a_flag(scrawler: Scrawler) -> None:
    assert "130  stopped by the user" in scrawler("--help").stdout
    text = " ".join(scrawler("run", "--help").stdout.split())
    for words in (
        "--threads N",
        "--delay TIME",
        "--max-bytes SIZE",
        "--scope host|domain|prefix",
        "[1 to 1000; default: 20]",
        "--nofollow REL,... Links that are not followed, by what their rel says. [relations among nofollow, ugc,",
    ):
        assert words in text


def test_the_schema_can_be_loaded_by_hand(scrawler: Scrawler, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "scrawler.db")
    connection.executescript(scrawler("db", "schema").stdout)
    connection.close()
    assert "up to date" in scrawler("db", "upgrade").stdout
    assert (
        "holds the crawl 'mine' with scope domain"
        in scrawler("db", "init", "--name", "mine", "--scope", "domain").stdout
    )
    assert "ENGINE=InnoDB" in scrawler("db", "schema", "--dialect", "mysql").stdout


def test_a_server_that_is_not_there_is_waited_for_by_a_run_until_its_patience_is_over(scrawler: Scrawler) -> None:
    done = scrawler("run", "--db", "mysql://u:secret@127.0.0.1:1/x", "--database-patience", "6", code=6)
    assert "waiting for it" in done.stderr
    assert "cannot be reached" in done.stderr.splitlines()[-1]
    assert "given up after 6s" in done.stderr.splitlines()[-1]
    assert "secret" not in done.stderr


def test_the_package_can_be_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scrawler"]
    done = subprocess.run([*command, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0
    assert done.stdout.startswith(f"scrawler {__version__} (links by ")
    done = subprocess.run([*command, "status"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == StoreError.exit_code
    assert done.stderr.startswith("scrawler: error: there is no database")


@pytest.mark.parametrize("command", [("status",), ("run",), ("run", "--machines", "2"), ("db", "upgrade"), ("stop",)])
def test_it_is_said_where_a_database_url_stands_that_cannot_be_read(
    command: tuple[str, ...], scrawler: Scrawler, tmp_path: Path
) -> None:
    bad = "the database URL cannot be read; use sqlite:///path or mysql+pymysql://..."

    def said(*arguments: str, **variables: str) -> str:
        return _said(scrawler(*command, *arguments, code=4, **variables))

    (tmp_path / "scrawler.toml").write_text("# where the crawl is\nretries = 3\ndb = 'no:secret@url'\n")
    (tmp_path / "other.toml").write_text("\"db\" = 'no url'\n")
    assert said() == f"scrawler.toml:3: {bad}"
    assert said("--config", "other.toml") == f"other.toml:1: {bad}"
    assert said(SCRAWLER_DB="nonsense") == f"SCRAWLER_DB: {bad}"
    assert said("--db", "nonsense", SCRAWLER_DB="more nonsense") == f"--db: {bad}"
    folder = said(SCRAWLER_DB="sqlite:///nowhere/x.db")
    assert folder == "SCRAWLER_DB: there is no folder nowhere for the database x.db"
