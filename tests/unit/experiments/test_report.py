"""Tables, plots and their place in the README."""

from __future__ import annotations

import struct
from pathlib import Path

import click
import pytest

from experiments.__main__ import EXPERIMENTS
from experiments.lab.plots import Line, Panel, draw
from experiments.lab.readme import README, with_results
from experiments.lab.report import Claim, Plot, Report, medians, read_rows, redraw, write_report

ROWS = [
    {"round": 1, "who": "a", "pages/s": 10.0},
    {"round": 2, "who": "a", "pages/s": 30.0},
    {"round": 1, "who": "b", "pages/s": 1234.5},
    {"round": 3, "who": "a", "pages/s": 20.0},
]


def test_medians_are_by_group() -> None:
    assert medians("who", ROWS) == [{"who": "a", "pages/s": 20.0}, {"who": "b", "pages/s": 1234.5}]


def test_a_report_has_table_claims_and_pictures(tmp_path: Path) -> None:
    panel = Panel("speed", "time in s", "pages/s", [Line("a", [0, 1], [10, 30], bold=True)])
    claims = [Claim("gain", "paper 004, Figure 7", "+34.7 %", "+20 %")]
    report = Report("it", "It", "who", ROWS, ["a note"], claims, [Plot("how fast", [panel], "fast")], {"more": ROWS})
    write_report(report, tmp_path / "new")
    text = (tmp_path / "new" / "it.md").read_text()
    assert "| a | 20 |\n| b | 1,234 |" in text
    assert "| gain | paper 004, Figure 7 | +34.7 % | +20 % |" in text
    assert "![how fast](it-fast.png)" in text
    assert read_rows(tmp_path / "new" / "it-more.csv") == ROWS, "a later run adds to what an earlier one has found"
    with pytest.raises(click.ClickException, match="an earlier run writes it"):
        read_rows(tmp_path / "none.csv")
    assert {file.name for file in (tmp_path / "new").iterdir()} == {
        *("it.csv", "it-more.csv", "it.md", "it-fast.png", "it-fast.plot.json"),
    }
    readme = with_results(
        "x\n<!-- results: it -->\nold\n<!-- end -->\n<!-- results: no -->\nstays\n<!-- end -->\n", tmp_path / "new"
    )
    assert "old" not in readme
    assert "![how fast](new/it-fast.png)" in readme
    assert "stays" in readme
    assert with_results(readme, tmp_path / "new") == readme


def test_plots_are_drawn_again_from_what_they_showed(tmp_path: Path) -> None:
    lines = [Line(name, [1, 10, 1000], [-3.0, 0.5, 20.0], points=name == "b") for name in "abc"]
    panels = [
        Panel("one", "URLs", "%", lines),
        Panel("two", "URLs", "s", lines[:1], log_x=True),
        Panel("none", "", "", []),
    ]
    write_report(Report("it", "It", "who", ROWS, plots=[Plot("all of it", panels)]), tmp_path)
    first = (tmp_path / "it.png").read_bytes()
    (tmp_path / "it.png").unlink()
    assert redraw(tmp_path) == [tmp_path / "it.png"]
    assert (tmp_path / "it.png").read_bytes() == first


def test_panels_stand_two_in_a_row(tmp_path: Path) -> None:
    panel = Panel("speed", "time in s", "pages/s", [Line("a", [1], [10]), Line("b", [1], [0])])
    sizes = {}
    for number in (1, 2, 5):
        draw(tmp_path / "it.png", "speed", [panel] * number)
        sizes[number] = struct.unpack(">II", (tmp_path / "it.png").read_bytes()[16:24])
    assert sizes[1][0] < sizes[2][0] == sizes[5][0] < 1_200
    assert sizes[5][1] > 2 * sizes[2][1]


def test_what_a_row_does_not_have_stays_empty(tmp_path: Path) -> None:
    rows = [{"who": "a", "pages/s": 1.0}, {"who": "b", "pages/s": 2.0, "claims": 3.0}]
    write_report(Report("it", "It", "who", rows, tables={"all": rows[::-1]}), tmp_path)
    assert (tmp_path / "it.csv").read_text().splitlines() == ["who,pages/s,claims", "a,1.0,", "b,2.0,3.0"]
    text = (tmp_path / "it.md").read_text()
    assert "| a | 1 |  |\n| b | 2 | 3 |" in text
    assert "| b | 2 | 3 |\n| a | 1 |  |" in text
    assert medians("who", rows[::-1]) == rows[::-1]


def test_every_experiment_has_a_place_of_its_own_in_the_readme(tmp_path: Path) -> None:
    for name in EXPERIMENTS:
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nfigures of {name}\n")
    before, after = README.read_text(), with_results(README.read_text(), tmp_path)
    assert [after.count(f"figures of {name}\n") for name in EXPERIMENTS] == [1] * len(EXPERIMENTS)
    headings = [[line for line in text.splitlines() if line.startswith("#")] for text in (before, after)]
    assert headings[0] == headings[1]  # none was taken for a result
    assert before.count("<!-- results: ") == before.count("<!-- end -->") == len(EXPERIMENTS)


def test_nothing_measured_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="nothing was measured"):
        write_report(Report("it", "It", "who", []), tmp_path)
