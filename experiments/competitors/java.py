"""What the crawlers written in Java have in common: a folder named by a variable, and XML files."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as Xml


def why_not(variable: str, program: str) -> str | None:
    """Tell why the program of a folder named by an environment variable can't be run; None: it can."""
    home = os.environ.get(variable)
    if not home:
        return f"{variable} names no folder"
    return None if (Path(home) / program).is_file() else f"{variable}: there is no {program} in {home}"


def path_in(variable: str, path: str) -> str:
    """Return the path of something in that folder."""
    return str(Path(os.environ[variable]) / path)


def write_xml(file: Path, root: Xml.Element) -> None:
    """Write a document, indented, for those who look at it."""
    Xml.indent(root)
    Xml.ElementTree(root).write(file, encoding="UTF-8", xml_declaration=True)
