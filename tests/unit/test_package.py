"""What `import scrawler` gives, and that it costs nothing before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import scrawler
from scrawler import errors


def test_to_import_the_package_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import scrawler; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pydantic" not in done.stdout
    assert "sqlalchemy" not in done.stdout
    ours = [name for name in eval(done.stdout) if name.startswith("scrawler")]
    assert ours == ["scrawler", "scrawler.compiled"], "what is compiled is checked before any of it is imported"


@pytest.mark.interpreted("mypyc keeps no docstrings of named tuples")
def test_all_names_are_there_and_documented() -> None:
    for name in scrawler.__all__:
        value = getattr(scrawler, name)
        assert name == "__version__" or value.__doc__, name
    assert set(dir(scrawler)) == set(scrawler.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Spider'"):
        _ = scrawler.Spider


def test_each_kind_of_error_of_the_library_is_a_scrawler_error() -> None:
    kinds = [getattr(scrawler, name) for name in scrawler.__all__ if name.endswith("Error")]
    assert len(kinds) > 5
    assert all(issubclass(kind, errors.ScrawlerError) for kind in kinds)


FEW_WANT = (
    *(
        "scrawler.api.stream",
        "scrawler.features.texts.wacz",
        "scrawler.features.cluster.exchange.tcp",
        "scrawler.extract.hazards",
    ),
    *("scrawler.extract.lexbor", "scrawler.extract.visible", "scrawler.features.report.report"),
    *("scrawler.features.hidden.step", "scrawler.features.plan.plan", "scrawler.features.topic.focus"),
    *("scrawler.features.outlinks.step", "scrawler.features.revisit.store.thinning", "scrawler.supervisor.supervisor"),
    *("fsspec", "requests", "selectolax"),
    *("sqlalchemy.dialects.mysql", "sqlalchemy.dialects.postgresql", "sqlalchemy.orm", "tqdm"),
)


@pytest.mark.parametrize("command", ["run", "status", "import", "report"])
def test_a_command_begins_without_what_few_want(command: str) -> None:
    """Each of these would cost every crawl milliseconds of CPU; who wants one loads it then."""
    code = (
        "import sys; import scrawler.cli; from scrawler.references import load_for_good;"
        f"load_for_good(sys.modules['scrawler.cli.main']._command({command!r}).reference); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "scrawler.settings.crawl" in loaded
    assert loaded.isdisjoint(FEW_WANT)
