"""What no linter checks of the house's style: one thought stands on one line."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import scrawler

PROGRAM = Path(scrawler.__file__).parent / "core"
HOUSE = PROGRAM.parent.parent
_THEIRS = HOUSE / "experiments/competitors/.venv"  # packages of peers, where they were measured
OF_HOUSE = sorted(
    file
    for part in ("scrawler", "experiments")
    for file in (HOUSE / part).rglob("*.py")
    if not file.is_relative_to(_THEIRS)
)


@cache
def tree_of(file: Path) -> ast.Module:
    """Return the parsed text of a file, which several tests read."""
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return a tree, or a function, and all that is in it: to walk takes longer than all that is asked here."""
    return tuple(ast.walk(tree))


def sets_attributes(assignment: ast.Assign) -> int:
    """Return how many attributes an assignment sets."""
    names = (name for target in assignment.targets for name in ast.walk(target))
    return sum(isinstance(name, ast.Attribute) and isinstance(name.ctx, ast.Store) for name in names)


def packed(tree: ast.AST) -> Iterator[ast.Assign]:
    """Yield the assignments in `__init__` that set more than one attribute."""
    for function in nodes_of(tree):
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            for line in nodes_of(function):
                if isinstance(line, ast.Assign) and sets_attributes(line) > 1:
                    yield line


def nested(tree: ast.AST) -> Iterator[ast.IfExp]:
    """Yield the conditional expressions that stand within another one."""
    for outer in nodes_of(tree):
        if isinstance(outer, ast.IfExp):
            for inner in ast.walk(outer):
                if isinstance(inner, ast.IfExp) and inner is not outer:
                    yield inner


def lines_of(found: Iterator[ast.Assign] | Iterator[ast.IfExp] | Iterator[ast.Attribute]) -> list[int]:
    """Return the numbers of the lines on which something was found."""
    return sorted({node.lineno for node in found})


def lines_told(found: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return what there is to tell: the files with lines."""
    return {name: lines for name, lines in found.items() if lines}


def own_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield where attributes of `self` are set."""
    for one in nodes_of(node):
        is_own = isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "self"
        if is_own and isinstance(one.ctx, ast.Store):
            yield one


def at_birth(methods: dict[str, ast.FunctionDef]) -> set[str]:
    """Return the names of the methods by which an object is made: `__init__`, and those of its own that this calls."""
    found: set[str] = set()
    waiting = [name for name in ("__init__", "__post_init__") if name in methods]
    while waiting:
        name = waiting.pop()
        found.add(name)
        calls = (one for one in nodes_of(methods[name]) if isinstance(one, ast.Attribute))
        waiting += {one.attr for one in calls if one.attr in methods} - found
    return found


def unborn(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Yield where a method sets an attribute that its object does not have from the beginning.

    One that stands at the head of its class may be set later, as by a framework.
    """
    for kind in nodes_of(tree):
        if isinstance(kind, ast.ClassDef):
            methods = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
            made = at_birth(methods)
            known = {name.id for one in kind.body if not isinstance(one, ast.FunctionDef)
                     for name in ast.walk(one) if isinstance(name, ast.Name)}  # fmt: skip
            known.update(one.attr for name in made for one in own_attributes(methods[name]))
            later = (one for name, method in methods.items() if name not in made for one in own_attributes(method))
            yield from (one for one in later if one.attr not in known)


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
    attributes = (node for node in nodes_of(tree) if isinstance(node, ast.Attribute))
    for one in attributes:
        if isinstance(one.ctx, ast.Store) and DOORS.get(one.attr, module) != module:
            yield one


# Set for urllib3 and uvicorn, in whose classes they stand.
BORN_ELSEWHERE = {"response_class", "cert_reqs", "ca_certs", "should_exit", "force_exit"}


def test_objects_have_their_attributes_from_the_beginning() -> None:
    program = [file for file in OF_HOUSE if "experiments" not in file.relative_to(HOUSE).parts]
    found = {file.name: list(unborn(tree_of(file))) for file in program}
    later = {f"{name}:{one.lineno}" for name, some in found.items() for one in some if one.attr not in BORN_ELSEWHERE}
    assert later == set()


def test_what_is_set_after_the_beginning_is_found() -> None:
    tree = ast.parse(
        "class A:\n"
        "    head: int\n"
        "    def __init__(self):\n        self.a = 1\n        self.reset()\n"
        "    def reset(self):\n        self.b = 1\n"
        "    def later(self):\n        self.a = self.b = self.head = 2\n        self.c = 3\n"
    )
    assert [one.attr for one in unborn(tree)] == ["c"]


def test_what_has_a_door_is_set_by_it() -> None:
    names = {file.relative_to(PROGRAM).as_posix(): file for file in PROGRAM.rglob("*.py")}
    found = {name: lines_of(sets_elsewhere(tree_of(file), name)) for name, file in names.items()}
    assert lines_told(found) == {}


def test_what_is_set_elsewhere_is_found() -> None:
    tree = ast.parse(
        "party.leaving = reason\nsite.waiting += 1\nparty.left, party.end_detail = 1, 2\nparty.leave(reason)"
    )
    assert lines_of(sets_elsewhere(tree, "asking/visits.py")) == [1, 2, 3]
    assert lines_of(sets_elsewhere(tree, "party/context.py")) == [2]


def test_one_thought_a_line() -> None:
    trees = {file.relative_to(HOUSE).as_posix(): tree_of(file) for file in OF_HOUSE}
    on_one_line = lines_told({name: lines_of(packed(tree)) for name, tree in trees.items()})
    assert on_one_line == {}, "set one attribute a line in __init__"
    in_another = lines_told({name: lines_of(nested(tree)) for name, tree in trees.items()})
    assert in_another == {}, "write a function, or an `if`, in the place of a nested conditional expression"


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
