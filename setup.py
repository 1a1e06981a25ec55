"""Packaging: `pip install .` gives the command `scrawler`, with the SQL files and the sample seeds on board."""

import re
from pathlib import Path

from setuptools import Extension, find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "scrawler/__init__.py").read_text(), re.MULTILINE)[1]
LINKSCAN = "scrawler/extract/linkscan_c"
LINKSCAN_PARTS = sorted(f"{LINKSCAN}/{part.name}" for part in (HERE / LINKSCAN).glob("*.h"))
URLS = "scrawler/urls"
TEST = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "protego>=0.7", "setuptools>=77", "warcio>=1.7.5"]
EXPERIMENTS = ["lxml>=5.3", "matplotlib>=3.9"]
DEV = [
    *TEST,
    *EXPERIMENTS,
    "ruff>=0.12",
    "mypy>=1.15",
    "import-linter>=2.3",
    "types-html5lib",
    "types-lxml",
    "types-pymysql",
    "types-requests",
    "types-tqdm",
    "types-webencodings",
]

setup(
    name="scrawler",
    version=VERSION,
    description="A seed-by-seed web crawler with a database behind it",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    # sql/ and input_urls/ stand at the top for those who read them; installed they are data of the package.
    packages=[
        *find_packages(include=["scrawler", "scrawler.*"]),
        "scrawler.sql",
        "scrawler.input_urls",
    ],
    package_dir={"scrawler": "scrawler", "scrawler.sql": "sql", "scrawler.input_urls": "input_urls"},
    package_data={
        "scrawler": ["py.typed"],
        "scrawler.sql": ["*/*.sql", "*/migrations/*.sql"],
        "scrawler.input_urls": ["*.txt", "*.csv", "*.jsonl"],
    },
    # Optional: where they cannot be built, Lexbor finds the links, and Python looks them up and compares texts.
    ext_modules=[
        Extension("scrawler.extract._linkscan", [f"{LINKSCAN}/linkscan.c"], depends=LINKSCAN_PARTS, optional=True),
        Extension("scrawler.extract._simhash", ["scrawler/extract/_simhash.c"], optional=True),
        Extension("scrawler.urls._lookup", [f"{URLS}/_lookup.c"], depends=[f"{URLS}/_seen.h"], optional=True),
    ],
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
    extras_require={"test": TEST, "experiments": EXPERIMENTS, "dev": DEV},
    entry_points={"console_scripts": ["scrawler = scrawler.cli:main"]},
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Topic :: Internet :: WWW/HTTP :: Indexing/Search",
        "Topic :: System :: Archiving",
        "Typing :: Typed",
    ],
)
