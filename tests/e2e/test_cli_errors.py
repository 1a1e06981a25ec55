"""The command line when something is wrong: one clear line, and an exit code that says what kind of thing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from scrawler.store.engines.engines import USE
from tests.e2e.conftest import CRAWL, SCRAWLER, TIMEOUT, Rows, Scrawler, environment, error_line, shell, started


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
        (("synthweb", "--sites", "0"), 2, "synthetic web: --sites is 0, must be between 1 and"),
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
        (
            ("status", "--db", "nonsense"),
            4,
            "--db: the database URL cannot be read; use a file as crawl.db, sqlite:///path, mysql",
        ),
        (("status", "--db", "crawl.db"), 4, "there is no database crawl.db"),
        (("run", "--log-file", "nowhere/x.log"), 1, "the log nowhere/x.log cannot be opened: No such file"),
        (("status", "--db", "sqlite:///what?.db"), 4, "takes no parameters, and here stand a ?, which begins them"),
        (("corpus", "x.pdf", "--db", "sqlite:///there.db"), 2, "x.pdf: a corpus is written as .jsonl, .jsonl.gz"),
        (
            ("plan", "--from", "nonsense"),
            4,
            "--from: the database URL cannot be read; use a file as crawl.db, sqlite:///path, mysql",
        ),
        (("status", "--db", "mysql://u:secret@127.0.0.1:1/x"), 4, "cannot be reached"),
        (("status", "--db", "mysql://u:secret@127.0.0.1:1"), 4, "the database URL names no database"),
        (("status", "--db", "mysql://u:p@secret@127.0.0.1:1/x"), 4, "holds an @; write %40 for it"),
        (("status", "--db", "mysql://u:p/secret@secret@127.0.0.1:1/x"), 4, "holds an @; write %40 for it"),
        (("status", "--db", "mysql://u@127.0.0.1:1/x?password=secret"), 4, "u:***@127.0.0.1:1/x cannot be reached"),
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
    assert words in error_line(done)
    assert "secret" not in done.stderr


def test_settings_from_the_environment_and_the_file_are_checked_by_every_command(
    scrawler: Scrawler, tmp_path: Path
) -> None:
    assert "SCRAWLER_THREADS=many" in error_line(scrawler("status", code=2, SCRAWLER_THREADS="many"))
    (tmp_path / "scrawler.toml").write_text("treads = 5")
    assert "unknown key 'treads'; did you mean threads?" in error_line(scrawler("status", code=2))


@pytest.mark.parametrize(
    ("arguments", "command", "words"),
    [
        (("fly",), "scrawler", "No such command 'fly'"),
        (("staus",), "scrawler", "No such command 'staus'; did you mean status?"),
        (("run", "--thread", "2"), "scrawler run", "No such option"),
        (
            ("run", "--user", "x"),
            "scrawler run",
            "No such option '--user': user is for one host, in scrawler.toml",
        ),
        (("run", "--certificate", "x"), "scrawler run", "No such option '--certificate': certificate is for one host"),
        (("pages", "--state", "dead"), "scrawler pages", "No such option '--state'"),
        (("import",), "scrawler import", "Missing argument 'FILE'"),
        (("seeds", "--state", "asleep"), "scrawler seeds", "Invalid value for '--state': 'asleep' is not one of "),
        (("seeds", "--db", "sqlite:///x", "promote"), "scrawler seeds", "options of `seeds promote` stand behind it"),
        (("seeds", "--csv", "--json"), "scrawler seeds", "csv and json are different forms: give one of them"),
        (("import", "x", "--rejects", ""), "scrawler import", "Invalid value for '--rejects': it is empty"),
        (("export", ""), "scrawler export", "Invalid value for '[FILE]': it is empty"),
        (("synthweb", "--traps", "--faults"), "scrawler synthweb", "--traps, --faults and --shop are different webs"),
        (("seeds", "promote", "--undo", str(2**63)), "scrawler seeds promote", "Invalid value for '--undo': 92"),
        (("synthweb", "--port", "65536"), "scrawler synthweb", "Invalid value for '--port': 65536 is not in the "),
        (("synthweb", "--seeds-per-site", "0"), "scrawler synthweb", "Invalid value for '--seeds-per-site': 0 is not "),
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
    assert "cannot be read" in error_line(scrawler("import", "secret.txt", code=3))


def test_a_bad_line_is_no_error_and_rejects_has_it(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    given = "http://a.example/\n" + "x" * 10_000_000 + "\nhttp://user:pass@b.example/\n"
    done = scrawler("import", "-", "--rejects", "-", "--db", "sqlite:///other.db", given=given)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["2", "3"]
    done = scrawler("import", "-", "--rejects", "bad.tsv", given=given)
    assert "line 2: line longer than" in done.stderr
    assert "3 seeds read: 1 new, 0 duplicate, 2 invalid" in done.stderr
    assert [line.split("\t")[0] for line in (tmp_path / "bad.tsv").read_text().splitlines()] == ["2", "3"]
    assert [row["url"] for row in rows("seeds")] == ["http://a.example/"]


def test_an_export_of_an_unknown_kind_is_refused_before_anything_is_written(scrawler: Scrawler, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    scrawler("import", "seeds.txt")
    assert "only .txt, .csv and .jsonl, plain or packed as .gz or .zst, and .parquet can" in error_line(
        scrawler("export", "out.xlsx", code=2)
    )
    assert not (tmp_path / "out.xlsx").exists()
    scrawler("export", "out.xlsx", "--format", "txt")
    assert (tmp_path / "out.xlsx").read_text() == "http://a.example/\n"


def test_a_user_agent_without_a_contact_is_warned_about(scrawler: Scrawler) -> None:
    for machines in ("1", "2"):
        said = scrawler("run", "--no-export", "--user-agent", "Bot/1.0", "--machines", machines).stderr
        assert said.count("has no contact") == 1
    assert "has no contact" not in scrawler(*CRAWL, "--no-export").stderr


def test_a_crawl_that_checks_no_certificates_is_warned_about(scrawler: Scrawler) -> None:
    assert scrawler("run", "--no-export", "--insecure").stderr.count("certificates of https sites are not checked") == 1
    assert "certificates" not in scrawler(*CRAWL, "--no-export").stderr


@pytest.mark.parametrize("machines", ["1", "2"])
def test_too_few_files_are_told_before_hosts_seem_dead_for_want_of_them(
    machines: str, scrawler: Scrawler, rows: Rows, tmp_path: Path
) -> None:
    scrawler("import", "-", given="http://a.example/\n")
    with started(tmp_path, "run", "--machines", machines, limits={"RLIMIT_NOFILE": 60}) as running:
        _, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 2
    assert "may have 60 files and sockets open, and 20 threads of 10 seeds need 624: raise the limit" in said
    assert [row["state"] for row in rows("seeds")] == ["ready"]
    with started(tmp_path, "run", "--threads=2", "--seeds-per-thread=4", limits={"RLIMIT_NOFILE": 100}) as running:
        running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0


def test_machines_that_would_take_all_files_end_with_what_is_in_the_way(scrawler: Scrawler, tmp_path: Path) -> None:
    """The supervisor keeps files for itself, and a machine that is forked with the last one can still begin."""
    scrawler("import", "-", given="http://a.example/\n")
    done = shell(f"ulimit -n 16; {SCRAWLER} run --machines 5", tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "may have 16 files and sockets open" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY, reason="stacks may not be that large here"
)
def test_an_import_without_room_for_a_thread_is_one_line(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    scrawler("db", "init")
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    # Stacks of 4 GiB: the first thread has no room, and all else has.
    done = shell(f"ulimit -s 4194304; ulimit -v 2097152; {SCRAWLER} import seeds.txt", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "scrawler: error: the system has no room for another thread (can't start new thread); allow more"
        " (ulimit -u, ulimit -v)\n"
    )
    assert rows("seeds") == []


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("export folder/", 1, "folder/: cannot be written: it is the name of a folder"),
        ("export folder/ --format parquet", 1, "folder/: cannot be written: it is the name of a folder"),
        ("report --html folder/", 2, "Invalid value for '--html': 'folder/' is the name of a folder"),
        ("import seeds.txt --rejects folder/", 2, "Invalid value for '--rejects': 'folder/' is the name of a folder"),
    ],
)
def test_the_name_of_a_folder_is_no_file_to_write(
    command: str, code: int, said: str, scrawler: Scrawler, tmp_path: Path
) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    scrawler("import", "seeds.txt")
    done = scrawler(*command.split(), code=code)
    assert f"scrawler: error: {said}" in done.stderr
    assert not (tmp_path / "folder").exists()


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


def test_a_server_that_is_not_there_is_waited_for_by_a_run_until_its_patience_is_over(scrawler: Scrawler) -> None:
    done = scrawler("run", "--db", "mysql://u:secret@127.0.0.1:1/x", "--database-patience", "6", code=6)
    assert "waiting for it" in done.stderr
    assert "cannot be reached" in done.stderr.splitlines()[-1]
    assert "given up after 6s" in done.stderr.splitlines()[-1]
    assert "secret" not in done.stderr


@pytest.mark.parametrize("command", [("status",), ("run",), ("run", "--machines", "2"), ("db", "upgrade"), ("stop",)])
def test_it_is_said_where_a_database_url_stands_that_cannot_be_read(
    command: tuple[str, ...], scrawler: Scrawler, tmp_path: Path
) -> None:
    bad = f"the database URL cannot be read; {USE}"

    def said(*arguments: str, **variables: str) -> str:
        return error_line(scrawler(*command, *arguments, code=4, **variables))

    (tmp_path / "scrawler.toml").write_text("# where the crawl is\nretries = 3\ndb = 'no:secret@url'\n")
    (tmp_path / "other.toml").write_text("\"db\" = 'no url'\n")
    assert said() == f"scrawler.toml:3: {bad}"
    assert said("--config", "other.toml") == f"other.toml:1: {bad}"
    assert said(SCRAWLER_DB="nonsense") == f"SCRAWLER_DB: {bad}"
    assert said("--db", "nonsense", SCRAWLER_DB="more nonsense") == f"--db: {bad}"
    folder = said(SCRAWLER_DB="sqlite:///nowhere/x.db")
    assert folder == "SCRAWLER_DB: there is no folder nowhere for the database x.db"
