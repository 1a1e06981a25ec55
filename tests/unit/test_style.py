"""What no linter checks of the house's style: one thought stands on one line."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrawler

PROGRAM = Path(scrawler.__file__).parent / "core"
FILES = sorted(PROGRAM.rglob("*.py"))
NAMES = [file.relative_to(PROGRAM).as_posix() for file in FILES]
HOUSE = PROGRAM.parent.parent
OF_HOUSE = sorted(file for part in ("scrawler", "experiments") for file in (HOUSE / part).rglob("*.py"))


def sets_attributes(assignment: ast.Assign) -> int:
    """Return how many attributes an assignment sets."""
    names = (name for target in assignment.targets for name in ast.walk(target))
    return sum(isinstance(name, ast.Attribute) and isinstance(name.ctx, ast.Store) for name in names)


def packed(tree: ast.AST) -> Iterator[ast.Assign]:
    """Yield the assignments in `__init__` that set more than one attribute."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            for line in ast.walk(function):
                if isinstance(line, ast.Assign) and sets_attributes(line) > 1:
                    yield line


def nested(tree: ast.AST) -> Iterator[ast.IfExp]:
    """Yield the conditional expressions that stand within another one."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.IfExp):
            for inner in ast.walk(outer):
                if isinstance(inner, ast.IfExp) and inner is not outer:
                    yield inner


def lines_of(found: Iterator[ast.Assign] | Iterator[ast.IfExp] | Iterator[ast.Attribute]) -> list[int]:
    """Return the numbers of the lines on which something was found."""
    return sorted({node.lineno for node in found})


# What is set in one module alone, by a method that says what it does.
DOORS = {
    "leaving": "party/context.py",
    "end": "party/context.py",
    "end_detail": "party/context.py",
    "rehoming": "party/context.py",
    "put_off": "party/context.py",
    "waiting": "party/site.py",
    "stop_timeout": "rules.py",
}


def sets_elsewhere(tree: ast.AST, module: str) -> Iterator[ast.Attribute]:
    """Yield where an attribute is set that another module alone may set."""
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    for one in attributes:
        if isinstance(one.ctx, ast.Store) and DOORS.get(one.attr, module) != module:
            yield one


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_what_has_a_door_is_set_by_it(file: Path) -> None:
    found = sets_elsewhere(ast.parse(file.read_text(encoding="utf-8")), file.relative_to(PROGRAM).as_posix())
    assert lines_of(found) == []


def test_what_is_set_elsewhere_is_found() -> None:
    tree = ast.parse(
        "party.leaving = reason\nsite.waiting += 1\nparty.left, party.end_detail = 1, 2\nparty.leave(reason)"
    )
    assert lines_of(sets_elsewhere(tree, "asking/visits.py")) == [1, 2, 3]
    assert lines_of(sets_elsewhere(tree, "party/context.py")) == [2]


@pytest.mark.parametrize("file", OF_HOUSE, ids=[file.relative_to(HOUSE).as_posix() for file in OF_HOUSE])
def test_one_thought_a_line(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert lines_of(packed(tree)) == [], "set one attribute a line in __init__"
    assert lines_of(nested(tree)) == [], "write a function, or an `if`, in the place of a nested conditional expression"


@pytest.mark.parametrize(
    "line", ["self.a, self.b = a, b", "self.a = self.b = 0", "if a:\n            self.a, (c, self.b) = a, b"]
)
def test_packed_assignments_are_found(line: str) -> None:
    tree = ast.parse(f"class One:\n    def __init__(self, a, b):\n        {line}\n")
    assert lines_of(packed(tree))


@pytest.mark.parametrize(
    "line", ["a if b else c if d else e", "a if (b if c else d) else e", "a if b else f(c if d else e)"]
)
def test_nested_conditional_expressions_are_found(line: str) -> None:
    assert lines_of(nested(ast.parse(line))) == [1]
    assert lines_of(nested(ast.parse("(a if b else c) + (d if e else f)"))) == []
