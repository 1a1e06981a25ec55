"""Packaging: `pip install .` gives the command `scrawler`, with the SQL files and the sample seeds on board."""

import os
import re
import runpy
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "scrawler/__init__.py").read_text(), re.MULTILINE)[1]
LINKSCAN = "scrawler/extract/linkscan_c"
LINKSCAN_PARTS = sorted(f"{LINKSCAN}/{part.name}" for part in (HERE / LINKSCAN).glob("*.h"))
URLS = "scrawler/urls"
URLS_PARTS = sorted(f"{URLS}/{part.name}" for part in (HERE / URLS).glob("*.h"))
TEST = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "protego>=0.7", "setuptools>=77", "warcio>=1.7.5"]
EXPERIMENTS = ["lxml>=5.3", "matplotlib>=3.9", "numpy>=1.26"]
CORPUS = ["pyarrow>=17", "resiliparse>=2.0"]
TRAFILATURA = [
    *CORPUS,
    "trafilatura>=2.1",
    "lxml_html_clean>=0.4",
]  # lxml 6 has no extra for the second, which it wants
MARKDOWN = ["html-to-markdown>=3.19"]
REMOTE = ["fsspec>=2024.6", "s3fs>=2024.6"]
METRICS = ["prometheus_client>=0.20"]
DOCS = ["mkdocs-awesome-nav>=3.3", "mkdocs-material>=9.7", "mkdocstrings-python>=2.0"]
BROWSER = ["playwright>=1.45"]
EXCHANGE = ["kombu[redis]>=5.4"]
LISTEN = ["starlette>=1.0", "uvicorn>=0.40", "h11>=0.16", "dnspython>=2.7"]
POSTGRESQL = ["psycopg[binary]>=3.3"]
SERVE = ["starlette>=1.0", "uvicorn>=0.40", "h11>=0.16", "jinja2>=3.1.6", "http-message-signatures>=3.0"]
DEV = [
    *TEST,
    *EXPERIMENTS,
    *CORPUS,
    *MARKDOWN,
    *REMOTE,
    *METRICS,
    *DOCS,
    *BROWSER,
    *POSTGRESQL,
    *EXCHANGE,
    *SERVE,
    *LISTEN,
    "ruff>=0.12",
    "mypy>=1.15",
    "import-linter>=2.3",
    "types-html5lib",
    "types-lxml",
    "types-pymysql",
    "types-requests",
    "types-tqdm",
    "types-webencodings",
    "uhashring>=2.3",
]

# With SCRAWLER_COMPILED=1 mypyc compiles these (see CONTRIBUTING.md): what a page, a link or a site goes through. By
# folder; a star stands for all modules in it. No class in them may derive from one that is not compiled.
HOT = {
    "": "backoff faults mime units",
    "archive": "archive cdxj gzipping record surt warc",
    "core": "clock progress rules seen",
    "core/answers": "*",
    "core/asking": "budget checks governor origins patience robots_body sharing visits",
    "core/blame": "slots",
    "core/collecting": "*",
    "core/distribution": "inbox openers ports",
    "core/durable": "deltas handover reads",
    "core/machine": "lease permission",
    "core/outage": "silence standstill witnesses",
    "core/party": "*",
    "core/traps": "*",
    "extract": (
        "charset decode decoders directives link_header links markup rules scanned scanner simhash sniff xhtml"
    ),
    "features/topic": "focus terms",
    "fetch": "cookies curl downloader poller politeness retry_after robots transfer unasked wire",
    "model": (
        "claims deltas lanes machines records results robots rows scope seeds servers sizes suspects terms visits"
    ),
    "urls": "*",
}
WHOLE = ["-flto=auto", "-fno-semantic-interposition"]  # gcc sees all modules at once: 1.6 % of a page's CPU
MYPYC = "mypy[mypyc]~=2.4"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
compiled = runpy.run_path(str(HERE / "scrawler/compiled.py"))  # not imported: the package may not be whole
MANIFEST, text_digest, SLOWER = (compiled[name] for name in ("MANIFEST", "text_digest", "SLOWER"))
HOME_URL = os.environ.get("SCRAWLER_HOME_URL", "")  # where the project is kept; whoever releases it says so
IS_ASKED = os.environ.get("SCRAWLER_COMPILED", "") not in ("", "0")
# For tests alone: gcc optimises each module a little, and not all at once, which takes it less than half the time.
IS_QUICK = os.environ.get("SCRAWLER_COMPILED", "") == "quickly"


def hot_modules() -> list[str]:
    """Return the modules of `HOT`, as paths in the package's folder; a package's own file is none of them."""
    package = HERE / "scrawler"
    found = [
        path
        for folder, names in HOT.items()
        for name in names.split()
        for path in package.glob(f"{folder or '.'}/{name}.py")
    ]
    return sorted(path.relative_to(package).as_posix() for path in found if path.name != "__init__.py")


def by_mypyc() -> list[Extension]:
    """Return the modules that mypyc makes of them: one for each, and one that holds the code of all."""
    from mypyc.build import mypycify

    paths = [f"scrawler/{path}" for path in hot_modules()]
    # What else is installed must not make a difference: `make check` looks at types, strictly.
    options = ["--config-file=", "--ignore-missing-imports"]
    made = mypycify(
        [*options, *paths], opt_level="1" if IS_QUICK else "2", debug_level="0", multi_file=True, group_name="scrawler",
        target_dir="build/compiled/c",
    )  # fmt: skip
    for one in made:  # a compiler of another year warns of something else
        one.extra_compile_args = [option for option in one.extra_compile_args if option != "-Werror"]
        if is_gcc():
            one.extra_compile_args += ["-include", str(HERE / "scrawler/seldom.h")]
        if is_gcc() and not IS_QUICK:
            one.extra_compile_args += WHOLE
            one.extra_link_args = ["-O2", *WHOLE]
    return made


def is_gcc() -> bool:
    """Tell whether extensions are compiled by gcc; others may lack what they need to optimise while they link."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or ""
    words = (word for word in compiler.split() if not word.startswith("-"))  # `ccache gcc` is it as well
    return any("gcc" in os.path.basename(word) for word in words)


class BuildParts(build_ext):
    """Builds what is compiled; writes down from which texts mypyc has made modules (see scrawler/compiled.py)."""

    def run(self) -> None:
        """Build all, and write the list last."""
        if not IS_ASKED:
            super().run()
            self._say_what_is_slower()
            return
        listed = self._begin_list()
        # Not before: other commands only ask what there is, and mypy needs seven seconds.
        self.distribution.ext_modules.extend(by_mypyc())
        self.reinitialize_command(self, inplace=self.inplace, editable_mode=self.editable_mode).ensure_finalized()
        self.parallel = CORES
        super().run()
        for folder in self._folders():
            (folder / MANIFEST).write_text(listed, encoding="utf-8")

    def _say_what_is_slower(self) -> None:
        """Say in one line what a user lacks where parts in C could not be built; they are optional."""
        if all(Path(self.get_ext_fullpath(extension.name)).exists() for extension in self.extensions):
            return
        print(f"scrawler: {SLOWER}", file=sys.stderr)
        try:  # pip shows what a build says only where it is asked to (-v)
            with open("/dev/tty", "w") as terminal:
                print(f"\nscrawler: {SLOWER}", file=terminal)
        except OSError:
            pass

    def _folders(self) -> list[Path]:
        """Return the folders of the package into which is built."""
        return [Path(self.build_lib) / "scrawler", *([HERE / "scrawler"] if self.inplace else [])]

    def _begin_list(self) -> str:
        """Return the list of the texts as they are now; remove what was built of others."""
        for folder in self._folders():
            for made in [*folder.glob("**/*.so"), folder / MANIFEST]:
                made.unlink(missing_ok=True)
        texts = {path: (HERE / "scrawler" / path).read_bytes() for path in hot_modules()}
        return "".join(f"{text_digest(text)} {path}\n" for path, text in texts.items())

    def build_extension(self, ext: Extension) -> None:
        """Build one; compile the many files of mypyc side by side."""
        if len(ext.sources) > 1:
            with ThreadPoolExecutor(CORES) as pool:
                ext.extra_objects = [one for made in pool.map(partial(self._compile, ext), ext.sources) for one in made]
            ext.sources = []
        super().build_extension(ext)

    def _compile(self, ext: Extension, source: str) -> list[str]:
        return self.compiler.compile(
            [source], output_dir=self.build_temp, include_dirs=ext.include_dirs, extra_postargs=ext.extra_compile_args
        )


setup(
    name="seed-scrawler",  # `scrawler` is somebody else's on the package index
    version=VERSION,
    description="A seed-by-seed web crawler with a database behind it",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="the SCrawler authors",
    keywords=["crawler", "web archive", "warc", "spider", "broken links", "text corpus"],
    project_urls={
        "Documentation": f"{HOME_URL}/tree/main/docs",
        "Source": HOME_URL,
        "Issues": f"{HOME_URL}/issues",
        "Changelog": f"{HOME_URL}/blob/main/CHANGELOG.md",
    }
    if HOME_URL
    else {},
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    # sql/ and input_urls/ stand at the top for those who read them; installed they are data of the package.
    packages=[
        *find_packages(include=["scrawler", "scrawler.*"]),
        "scrawler.sql",
        "scrawler.input_urls",
    ],
    py_modules=["seed_scrawler"],
    package_dir={"scrawler": "scrawler", "scrawler.sql": "sql", "scrawler.input_urls": "input_urls"},
    package_data={
        "scrawler": ["py.typed"],
        "scrawler.sql": ["*/*.sql", "*/migrations/*.sql"],
        "scrawler.input_urls": ["*.txt", "*.csv", "*.jsonl"],
    },
    # `make man` writes them; a checkout has none.
    data_files=[("share/man/man1", sorted(str(page.relative_to(HERE)) for page in (HERE / "man").glob("*.1")))],
    # Optional: where they cannot be built, Lexbor finds the links, and Python looks them up and compares texts.
    ext_modules=[
        Extension("scrawler.archive._records", ["scrawler/archive/_records.c"], optional=True),
        Extension("scrawler.core.party._archived", ["scrawler/core/party/_archived.c"], optional=True),
        Extension("scrawler.extract._linkscan", [f"{LINKSCAN}/linkscan.c"], depends=LINKSCAN_PARTS, optional=True),
        Extension("scrawler.extract._simhash", ["scrawler/extract/_simhash.c"], optional=True),
        Extension("scrawler.fetch._heads", ["scrawler/fetch/_heads.c"], optional=True),
        Extension("scrawler.store._sums", ["scrawler/store/_sums.c"], optional=True),
        Extension("scrawler.urls._lookup", [f"{URLS}/_lookup.c"], depends=URLS_PARTS, optional=True),
    ],
    cmdclass={"build_ext": BuildParts},
    options={"build": {"build_base": "build/compiled"}} if IS_ASKED else {},  # a later build has nothing of these
    setup_requires=[MYPYC] if IS_ASKED else [],
    install_requires=[
        "ada-url>=1.15",
        "annotated-types>=0.6",
        "brotli>=1.1",
        "certifi>=2024.2",
        "chardetng-py>=0.3.5",
        "click>=8.1",
        "html5lib>=1.1",
        "isal>=1.6",
        "publicsuffixlist>=1.0",
        "pybloom-live>=4.0",
        "pycurl>=7.45.3",
        "pydantic>=2.9",
        "pymysql>=1.1",
        "rbloom>=1.5.2",
        "requests>=2.32",
        "selectolax>=0.3.27",
        "sqlalchemy>=2.1",
        "tqdm>=4.66",
        "urllib3>=2.2",
        "webencodings>=0.5.1",
        "zstandard>=0.23",
    ],
    extras_require={
        "corpus": CORPUS,
        "trafilatura": TRAFILATURA,
        "markdown": MARKDOWN,
        "remote": REMOTE,
        "metrics": METRICS,
        "browser": BROWSER,
        "docs": DOCS,
        "postgresql": POSTGRESQL,
        "exchange": EXCHANGE,
        "serve": SERVE,
        "listen": LISTEN,
        "test": TEST,
        "experiments": EXPERIMENTS,
        "dev": DEV,
    },
    entry_points={"console_scripts": ["scrawler = seed_scrawler:program"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Information Technology",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Operating System :: MacOS",
        "Programming Language :: C",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Programming Language :: Python :: Implementation :: CPython",
        "Topic :: Internet :: WWW/HTTP",
        "Topic :: Internet :: WWW/HTTP :: Indexing/Search",
        "Topic :: System :: Archiving",
        "Typing :: Typed",
    ],
)
