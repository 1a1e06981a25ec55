"""The seven sites: package, folder, home page and loopback address of each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

PORT = 8088
SERVER_PACKAGE = "nginx-light"


class DocsWebError(click.ClickException):
    """The sites cannot be set up or served; the text is one line."""


@dataclass(frozen=True, slots=True)
class Site:
    """One package of HTML pages; `home` is the path from which most of them can be reached."""

    name: str
    package: str
    root: Path
    address: str
    home: str = "/"

    def home_url(self, port: int) -> str:
        """URL of the home page."""
        return f"http://{self.address}:{port}{self.home}"


SITES = (
    Site("python", "python3.11-doc", Path("/usr/share/doc/python3.11/html"), "127.1.0.1"),
    Site("sqlite", "sqlite3-doc", Path("/usr/share/doc/sqlite3"), "127.1.0.2"),
    Site("postgresql", "postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html"), "127.1.0.3"),
    Site("git", "git-doc", Path("/usr/share/doc/git-doc"), "127.1.0.4"),
    Site(
        "cppreference",
        "cppreference-doc-en-html",
        Path("/usr/share/cppreference/doc/html"),
        "127.1.0.5",
        "/en/index.html",
    ),
    Site("django", "python-django-doc", Path("/usr/share/doc/python-django-doc/html"), "127.1.0.6"),
    Site("apache", "apache2-doc", Path("/usr/share/doc/apache2-doc/manual"), "127.1.0.7"),
)


def missing_packages() -> list[str]:
    """Return the Debian packages that are not installed, the server's among them."""
    missing = [site.package for site in SITES if not site.root.is_dir()]
    return missing if Path("/usr/sbin/nginx").exists() else [*missing, SERVER_PACKAGE]


def install_packages(packages: Sequence[str]) -> None:
    """Install Debian packages; needs root and Debian's package index."""
    if os.geteuid() != 0:
        raise DocsWebError(f"packages are missing; as root: apt-get install {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if subprocess.run(command, env=environment).returncode:
        raise DocsWebError(f"apt-get could not install {' '.join(packages)}")


def home_urls(port: int, sites: Sequence[Site] = SITES) -> list[str]:
    """Return the seeds: the home page of each site."""
    return [site.home_url(port) for site in sites]
