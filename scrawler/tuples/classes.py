"""`dataclass` and `NamedTuple` as Python has them, for classes that cost a quarter to declare.

Python writes the methods of a dataclass as text and compiles them, five for a frozen one, when its module is imported;
of a named tuple it compiles `__new__` and each annotation. There are some 350 such classes, and that was a fifth of the
CPU before a command began. Here the methods that all classes can share are shared, `__init__` and `__new__` are written
when they are first asked for, and annotations stay the texts that they are. Type checkers and mypyc see what Python
has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple

    def write_inits() -> None:
        """See below."""
else:
    from collections import namedtuple
    from dataclasses import MISSING, FrozenInstanceError, fields
    from dataclasses import dataclass as _collected
    from functools import lru_cache
    from operator import attrgetter
    from reprlib import recursive_repr
    from sys import intern

    _waiting = []  # classes whose `__init__`, or `__new__`, may not be written yet
    _NOT_GIVEN = object()  # stands for what a factory is to make
    _PLACES = namedtuple("_PLACES", [f"field_{number}" for number in range(64)])  # no class has more fields
    _READERS = [_PLACES.__dict__[name] for name in _PLACES._fields]  # what reads a field knows its place alone

    def dataclass(*, eq=True, frozen=False, slots=False, kw_only=False):
        """Make a dataclass, as the one of Python does with these options. It may have no InitVar."""
        methods = {"__repr__": _repr}
        if eq:
            methods |= {"__eq__": _equal, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        collected = _collected(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)

        def made(kind):
            for name, method in methods.items():
                if name not in kind.__dict__:
                    setattr(kind, name, method)
            found = collected(kind)  # with slots another class, but mypyc keeps the first one
            late = _LateInit(frozen)
            for one in (kind, found):  # not before: since 3.14 what makes slots asks for this method
                if "__init__" not in one.__dict__:
                    one.__init__ = late
            _waiting.append(kind if "__mypyc_attrs__" in kind.__dict__ else found)
            return found

        return made

    def write_inits():
        """Write what is not written yet: for processes that are about to be forked, each of which would do so."""
        while _waiting:
            kind = _waiting.pop()
            _ = kind.__init__, kind.__new__

    class _LateInit:
        """Stands for `__init__` of a class until that is asked for, and puts what it writes in its place."""

        def __init__(self, frozen):
            self._frozen = frozen
            self._written = None

        def __get__(self, one, kind):
            """Return the method, of an object or of the class. Of two threads both may write it."""
            shown = one if isinstance(one, type) else kind  # `inspect.signature` gives a class and the class of it
            for owner in shown.__mro__:
                if owner.__dict__.get("__init__") is self:
                    self._written = _written_init(owner, self._frozen)
                    owner.__init__ = self._written
            return self._written.__get__(one, kind)

    def _written_init(kind, frozen):
        values = {"__set": object.__setattr__, "__not_given": _NOT_GIVEN}
        parameters, named, lines = ["self"], [], []
        for one in fields(kind):
            name, value, default = one.name, one.name, ""
            if one.default_factory is not MISSING:
                values[f"__make_{name}"] = one.default_factory
                default = "=__not_given"
                value = f"__make_{name}() if {name} is __not_given else {name}" if one.init else f"__make_{name}()"
            elif one.default is not MISSING:
                values[f"__default_{name}"] = one.default
                default = f"=__default_{name}"
                value = name if one.init else f"__default_{name}"
            elif not one.init:
                continue
            if one.init:
                (named if one.kw_only else parameters).append(name + default)
            lines.append(f"__set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(kind, "__post_init__"):
            lines.append("self.__post_init__()")
        if named:
            parameters += ["*", *named]
        exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), values)
        written = values["__init__"]
        written.__qualname__, written.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
        written.__annotations__ = {one.name: one.type for one in fields(kind) if one.init} | {"return": None}
        return written

    @lru_cache(maxsize=1024)
    def _values_of(kind):
        names = [one.name for one in fields(kind) if one.compare]
        return attrgetter(*names) if names else lambda one: ()

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = _values_of(self.__class__)
        return values(self) == values(other)

    def _hash(self):
        return hash(_values_of(self.__class__)(self))

    @recursive_repr("...")
    def _repr(self):
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _is_fixed(one, name):
        """Tell whether an attribute may not change; a class that is derived may have others of its own."""
        return "__dataclass_fields__" in type(one).__dict__ or name in one.__dataclass_fields__

    def _refuse_to_set(self, name, value):
        if _is_fixed(self, name):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def _refuse_to_delete(self, name):
        if _is_fixed(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    def _state(self):
        return [getattr(self, one.name) for one in fields(self)]

    def _set_state(self, values):
        for one, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, one.name, value)

    class _LateNew:
        """Stands for `__new__` of a named tuple until that is asked for, and puts what it writes in its place."""

        _written = None

        def __get__(self, one, kind):
            """Return the function. Of two threads both may write it."""
            for owner in kind.__mro__:
                if owner.__dict__.get("__new__") is self:
                    self._written = _written_new(owner)
                    owner.__new__ = staticmethod(self._written)
            return self._written

    def _written_new(kind):
        given = ", ".join(kind._fields)
        written = eval(f"lambda _cls, {given}: _new(_cls, ({given},))", {"_new": tuple.__new__, "__builtins__": {}})
        written.__name__, written.__qualname__ = "__new__", f"{kind.__qualname__}.__new__"
        written.__defaults__ = tuple(kind._field_defaults.values())
        written.__annotations__, written.__module__ = kind.__annotations__, kind.__module__
        return written

    def _making(size):
        def make(cls, values):
            """Make one of a sequence, or of what is iterated over."""
            made = tuple.__new__(cls, values)
            if len(made) != size:
                raise TypeError(f"Expected {size} arguments, got {len(made)}")
            return made

        return classmethod(make)

    def _replaced(self, /, **values):
        """Make one that has other values in the fields that are named."""
        made = self._make(map(values.pop, self._fields, self))
        if values:
            raise TypeError(f"Got unexpected field names: {list(values)!r}")
        return made

    def _shown(self):
        return f"{self.__class__.__name__}({', '.join(map('{}={!r}'.format, self._fields, self))})"

    def _as_dict(self):
        return dict(zip(self._fields, self, strict=True))

    def _values(self):
        return tuple(self)

    _SHARED = {
        "__slots__": (),
        "_replace": _replaced,
        "__replace__": _replaced,
        "__repr__": _shown,
        "_asdict": _as_dict,
        "__getnewargs__": _values,
    }

    class _Declared(type):
        """Makes a named tuple of what stands in the body of a class."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            types = body.get("__annotations__", {})
            fields = tuple(map(intern, types))  # the part in C knows a name by where it is held
            own = {
                "_fields": fields,
                "__match_args__": fields,
                "_field_defaults": {field: body[field] for field in fields if field in body},
                "_make": _making(len(fields)),
                "__new__": _LateNew(),
            }
            made = type(name, (tuple,), _SHARED | own | body | dict(zip(fields, _READERS[: len(fields)], strict=True)))
            _waiting.append(made)
            return made

    class NamedTuple(metaclass=_Declared):
        """Base of a class whose annotations are the fields of a named tuple."""
