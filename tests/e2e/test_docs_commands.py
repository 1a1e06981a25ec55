"""Each command of the documentation runs, and does what its page promises.

A page is a story: its commands run in their order, in a folder with a small crawl of the hosts that pages speak of.
The tutorials, and the programs of pages in Python, have tests of their own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import SCRAWLER, environment
from tests.e2e.web_of_docs import DocsWeb
from tests.limits import FAR, HANGS, allow

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs/index.md", *sorted((ROOT / "docs/how-to").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAMS = ("scrawler ", "cd ", "openssl ")  # that begin the commands of a page; what else it shows needs more
_END = "== "  # begins the line that follows what a command has said

FILES = {
    "seeds.txt": "https://example.org/\nhttps://example.com/\n",
    "more.txt": "https://more.example/\n",
    "list.txt": "https://example.org/\n",
    "domains.txt": "example.org\nexample.com\n",
    "dull.txt": "https://example.com/\n",
    "topic.txt": "3 costs\n1 page\n",
    "shop.txt": "https://shop.example/\n",
}
CRAWLED = """
scrawler import seeds.txt
scrawler run
scrawler rank ranks.txt
scrawler run --again
scrawler run --again
scrawler run --again
"""

# Commands that are not run here, and why: a part of the command -> the reason.
NOT_RUN = {
    "s3://": "tests/integration/archive has a server for it",
    "--main-text trafilatura": "an extra; tests/integration/texts/test_corpus.py",
    "--agents": "hosts of an example; tests/integration/cluster",
    "--merge": "as --agents",
    "scrawler listen": "it serves for ever; tests/e2e/test_cli_listen.py",
    "serve-site": "it serves for ever; tests/e2e/test_serve_site.py",
    "synthweb": "it serves for ever; the tutorials' tests run it",
    "shop.txt": "the shop of synthweb; tests/integration/crawl/test_crawl_hidden.py",
    "--keep": "it goes on for ever; tests/integration/crawl/test_rounds.py",
    "page-processors": "tests/e2e/test_howto_programs.py",
    "machines drain": "a machine that runs; tests/e2e/test_cli_machines.py",
    "scrawler why URL": "a URL of the reader's",
    "../first/found.csv": "another folder",
    "--dedup-from": "tests/integration/crawl/test_dedup.py",
    "127.": "a synthetic web's own addresses; tests/integration/crawl/test_crawl_why.py",
    "--webhook": "tests/integration/push",
    "languages": "tests/e2e/test_languages_example.py installs that feature",
    "no-translations": "tests/integration/crawl/test_crawl_plugins.py installs that filter",
    "SCrawler-demo": "what make demo says",
    "/var/www": "a folder of a server",
    "completions/": "tests/e2e/test_cli_completion.py",
}
# What a page says of a command's end: a part of the command -> its exit code.
ENDS = {
    "--rendered": 9,  # it was shown in no browser
    "scrawler broken": 1,  # something is broken
}
# What a page promises: a part of the command -> what the command says.
PROMISED = {
    "scrawler import seeds.txt": r"2 seeds read: ",
    "scrawler status": r"seeds done \(completed\) +\d",
    "scrawler seeds choose --top": r"^1 +https://",
    "scrawler cat https://example.org/page --headers": r"HTTP/1.1 200",
    "scrawler cat https://example.org/page --raw": r"^WARC/1\.1",
    "scrawler cat https://example.org/page --text": r"This is /page of example\.org\.",
    "scrawler cat https://example.org/page --markdown": r"This is /page of example\.org\.",
    "scrawler cat --headers": r"HTTP/1.1 200",
    "scrawler changes --since 7d": r"changed +https://example\.org/prices|https://example\.org/prices",
    "scrawler diff https://example.org/prices": r"costs \d",
    "scrawler why https://example.org/prices": r"https://example\.org/prices: fetched",
    "scrawler why https://example.org/some/page": r"https://example\.org/some/page: fetched",
    "scrawler why https://app.example/": r"its links are probably made by scripts: it has no link, 3 scripts",
    "scrawler seeds --rounds": r"https://example\.org/",
    "scrawler plan seeds.txt": r"bound by +politeness",
    "scrawler set delay": r"delay",
}


def commands(page: Path) -> list[str]:
    """Return the commands of a page, each as it would be typed."""
    found: list[str] = []
    for language, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language:
            continue
        lines = block.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):  # with what they say
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found += [line for line in lines if line.startswith(_PROGRAMS)]
    return found


def is_run(command: str) -> bool:
    return not any(part in command for part in NOT_RUN)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocsWeb]:
    with DocsWeb(tmp_path_factory.mktemp("certificates")) as served:
        yield served


@pytest.fixture(scope="module")
def variables(web: DocsWeb) -> dict[str, str]:
    settings = {"PROXY": web.proxy, "INSECURE": "true", "DELAY": "0", "PATIENCE": "0", "OUTLINKS": "true"}
    settings["USER_AGENT"] = "T/1 (+http://x/)"
    path = f"{Path(SCRAWLER).parent}{os.pathsep}{os.environ['PATH']}"
    return {**environment(PATH=path), **{f"SCRAWLER_{name}": value for name, value in settings.items()}}


@pytest.fixture(scope="module")
def crawled(variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and the crawl that pages take for granted."""
    allow(FAR)
    folder = tmp_path_factory.mktemp("docs") / "first"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        ["bash", "-ec", CRAWLED], cwd=folder, env=variables, capture_output=True, text=True, timeout=HANGS
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(map(is_run, commands(page)))], ids=lambda page: page.stem
)
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, crawled: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    allow(FAR)
    folder = tmp_path / "first"
    shutil.copytree(crawled, folder)
    if page.stem == "browser":
        (folder / "seeds.txt").write_text("https://app.example/\n")
        variables = variables | {"SCRAWLER_DB": "app.db", "SCRAWLER_PAGES_DIR": "app"}
    told = run(page, folder, variables)
    wrong = {command: code for command, (code, _) in told.items() if code != ended(command)}
    assert wrong == {}, {command: told[command][1] for command in wrong}
    for command, (_, said) in told.items():
        for part, promise in PROMISED.items():
            assert part not in command or re.search(promise, said, re.MULTILINE), (command, said)


def run(page: Path, folder: Path, variables: dict[str, str]) -> dict[str, tuple[int, str]]:
    """Run the commands of a page; return the exit code of each, and what it said."""
    wanted = [command for command in commands(page) if is_run(command)]
    before = "scrawler import seeds.txt; scrawler run; " if page.stem == "browser" else ""
    script = before + "\n".join(f'{command}\nprintf "\\n{_END}%s\\n" $?' for command in wanted)
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        timeout=FAR,
    )
    parts = re.split(rf"\n{_END}(\d+)\n", done.stdout)
    assert len(parts) == 2 * len(wanted) + 1, done.stdout
    return {one: (int(code), said) for one, said, code in zip(wanted, parts[::2], parts[1::2], strict=False)}


def ended(command: str) -> int:
    return next((code for part, code in ENDS.items() if part in command), 0)


def test_each_reason_not_to_run_a_command_is_needed() -> None:
    everything = [command for page in PAGES for command in commands(page)]
    assert [part for part in NOT_RUN if not any(part in command for command in everything)] == []
