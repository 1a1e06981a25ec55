"""What the crawlers written in Java have in common: jars of Maven Central, folders named by variables, XML files."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

import click

from experiments.competitors.built import BUILT, GENTLY

_POM = "http://maven.apache.org/POM/4.0.0"


class MavenProgram:
    """An artefact of Maven Central with all that it needs, which Maven keeps in its own folder.

    Artefacts are written group:name:version. Those of `instead` are taken in these versions, whatever is asked for.
    """

    def __init__(self, name: str, artefact: str, instead: Sequence[str] = ()) -> None:
        self._name = name
        self._artefact = artefact
        self._instead = instead
        self._file = BUILT / name / "classpath.txt"

    def why_not(self) -> str | None:
        """Tell that it was not fetched, or cannot be run; None: it can."""
        if reason := why_no_java():
            return reason
        if self._is_fetched():
            return None
        if shutil.which("mvn") is None:
            return f"mvn is not installed, which fetches {self._name} (Debian: maven)"
        return f"{self._name} is not fetched (python -m experiments.peers fetches it)"

    def install(self) -> None:
        """Fetch it unless it is there; without Maven or a network it is not there afterwards either."""
        if self._is_fetched() or shutil.which("mvn") is None:
            return
        click.echo(f"fetching {self._artefact} from Maven Central", err=True)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            write_xml(Path(folder) / "pom.xml", self.pom())
            goal = ["dependency:build-classpath", f"-Dmdep.outputFile={self._file}"]
            subprocess.run([*GENTLY, "mvn", "-B", "-q", *goal], cwd=folder, stdin=subprocess.DEVNULL)

    def command(self, main: str, *options: str) -> list[str]:
        """Return the command that runs one of its classes, with options for Java."""
        return ["java", *options, "-cp", self._file.read_text().strip(), main]

    def pom(self) -> Xml.Element:
        """Return the project that asks Maven for it."""
        project = Xml.Element("project", {"xmlns": _POM})
        values = {"modelVersion": "4.0.0", "groupId": "experiments", "artifactId": self._name, "version": "1"}
        for tag, value in {**values, "packaging": "pom"}.items():
            Xml.SubElement(project, tag).text = value
        if self._instead:
            _dependencies(Xml.SubElement(project, "dependencyManagement"), self._instead)
        _dependencies(project, [self._artefact])
        return project

    def _is_fetched(self) -> bool:
        return self._file.is_file() and all(map(os.path.isfile, self._file.read_text().strip().split(os.pathsep)))


def _dependencies(parent: Xml.Element, artefacts: Sequence[str]) -> None:
    dependencies = Xml.SubElement(parent, "dependencies")
    for artefact in artefacts:
        dependency = Xml.SubElement(dependencies, "dependency")
        for tag, value in zip(("groupId", "artifactId", "version"), artefact.split(":"), strict=True):
            Xml.SubElement(dependency, tag).text = value


def why_no_java() -> str | None:
    """Tell that there is no Java; None: there is."""
    return None if shutil.which("java") else "java is not installed (Debian: openjdk-17-jre-headless)"


def why_no_folder(variable: str, program: str) -> str | None:
    """Tell why the program of a folder named by an environment variable can't be run; None: it can."""
    home = os.environ.get(variable)
    if not home:
        return f"{variable} names no folder"
    return None if (Path(home) / program).is_file() else f"{variable}: there is no {program} in {home}"


def path_in(variable: str, path: str) -> str:
    """Return the path of something in that folder."""
    return str(Path(os.environ[variable]) / path)


def java_home() -> str:
    """Return the folder of the installed Java, for scripts that ask for it; there must be one."""
    return os.environ.get("JAVA_HOME") or str(Path(str(shutil.which("java"))).resolve().parents[1])


def write_xml(file: Path, root: Xml.Element) -> None:
    """Write a document, indented, for those who look at it."""
    Xml.indent(root)
    Xml.ElementTree(root).write(file, encoding="UTF-8", xml_declaration=True)
