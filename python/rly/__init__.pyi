# SPDX-License-Identifier: Apache-2.0
from collections.abc import (Callable, Iterable, Iterator, Mapping,
                             MutableMapping)
from os import PathLike
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

from numpy.typing import ArrayLike
from typing_extensions import Self, TypeAlias, TypedDict

__version__: str
__all__ = ["Attribute", "Data", "Error", "Found", "Function", "Interrupted",
           "LimitError", "Misuse", "Operator", "Place", "Program", "Refused",
           "RunError", "Session", "Value", "format", "load", "operators",
           "program"]

_F = TypeVar("_F", bound=Callable[..., ArrayLike])
_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]

class _Tensor(Protocol):
    """What torch, jax and others hand over by DLPack."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

_Params: TypeAlias = Mapping[str, ArrayLike | _Tensor] | _Path
_Log: TypeAlias = Callable[[str, str, dict[str, Any] | None], object]
_Level: TypeAlias = Literal["error", "warning", "info"]
_Files: TypeAlias = (MutableMapping[str, bytes]
                     | MutableMapping[str, bytes | str])

class _Param(TypedDict):
    name: str
    type: str
    dtype: str | None
    default: bool
    bound: bool

# --- Errors -------------------------------------------------------------------

class Error(Exception):
    diagnostics: list[dict[str, Any]]
    def __init__(self, text: str,
                 diagnostics: Iterable[dict[str, Any]] = ()) -> None: ...
    @property
    def codes(self) -> list[str | None]: ...

class Refused(Error, ValueError): ...
class RunError(Error, RuntimeError): ...
class LimitError(Error, MemoryError): ...
class Interrupted(Error): ...
class Misuse(Error, RuntimeError): ...

# --- Values -------------------------------------------------------------------

class Value:
    session: Session
    handle: Any
    def __init__(self, session: Session, handle: Any) -> None: ...
    @property
    def type(self) -> str: ...
    def get(self) -> Any: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __dlpack__(self, *, stream: None = None,
                   max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None,
                   copy: bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Function(Value):
    def __call__(self, *args: Any) -> Any: ...

class Data(tuple[Any, ...]):
    _fields: ClassVar[tuple[str, ...]]
    def __new__(cls, *fields: Any, **named: Any) -> Self: ...
    # The fields, which a class of program.data has as properties.
    def __getattr__(self, name: str) -> Any: ...

# --- Programs -----------------------------------------------------------------

class _Bound:
    """A function of a program in a session."""

    session: Session
    params: list[str]
    @property
    def type(self) -> str: ...
    def __call__(self, *args: Any, copy: bool = True, raw: bool = False,
                 **named: Any) -> Any: ...

class _Namespace:
    """The classes of a program's constructors."""

    def __getattr__(self, name: str) -> type[Data]: ...

class Program:
    context: Any
    handle: Any
    data: _Namespace
    def __init__(self, *, files: _Files | None = None, threads: int = 1,
                 max_memory: int = 0, max_depth: int = 0, max_steps: int = 0,
                 timeout: float = 0.0, safe: bool = False,
                 nan_stop: bool = False, strict: bool = False,
                 log: _Log | None = None, log_level: _Level = "warning"
                 ) -> None: ...
    def add(self, text: str | bytes, path: _Path = "<text>") -> Self: ...
    def add_file(self, path: _Path) -> Self: ...
    def operator(self, signature: str, *, gradient: str | None = None,
                 effect: bool = False,
                 shape: Callable[..., Iterable[int]] | None = None
                 ) -> Callable[[_F], _F]: ...
    def bind(self, params: _Params | None = None, copy: bool = True,
             **named: ArrayLike | _Tensor) -> Self: ...
    @property
    def params(self) -> list[_Param]: ...
    @property
    def names(self) -> list[str]: ...
    def __getattr__(self, name: str) -> _Bound: ...
    def __getitem__(self, name: str) -> _Bound: ...
    def __dir__(self) -> list[str]: ...
    def has(self, name: str) -> bool: ...
    def session(self, *, write: Callable[[str], object] | None = None
                ) -> Session: ...
    @property
    def session_of_its_own(self) -> Session: ...
    def grad(self, name: str | _Bound) -> _Bound: ...
    def find(self, path: _Path, line: int, column: int) -> Found | None: ...

class _State(MutableMapping[str, Any]):
    """A session's cells by path."""

    session: Session
    def paths(self) -> dict[str, str | None]: ...
    def __getitem__(self, path: str) -> Any: ...
    def __setitem__(self, path: str, new: Any) -> None: ...
    def __delitem__(self, path: str) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class _Snapshot: ...

class Session:
    program: Program
    context: Any
    handle: Any
    state: _State
    def __init__(self, program: Program, *,
                 write: Callable[[str], object] | None = None,
                 handle: Any = None) -> None: ...
    def function(self, name: str | _Bound) -> _Bound: ...
    def __getattr__(self, name: str) -> _Bound: ...
    def __getitem__(self, name: str) -> _Bound: ...
    def call(self, function: str | _Bound, *args: Any, copy: bool = True,
             raw: bool = False, **named: Any) -> Any: ...
    def run(self) -> list[Any]: ...
    def stream(self, frames: Iterable[Any], step: str | _Bound = "step",
               init: str | _Bound | None = None) -> Iterator[Any]: ...
    def interrupt(self) -> None: ...
    def fork(self, *, write: Callable[[str], object] | None = None
             ) -> Session: ...
    def snapshot(self) -> _Snapshot: ...
    def restore(self, snapshot: _Snapshot) -> None: ...
    def reset(self) -> None: ...
    def save(self, path: _Path) -> None: ...
    def load(self, path: _Path) -> None: ...

def load(path: _Path, params: _Params | None = None, copy: bool = True, *,
         files: _Files | None = None, threads: int = 1, max_memory: int = 0,
         max_depth: int = 0, max_steps: int = 0, timeout: float = 0.0,
         safe: bool = False, nan_stop: bool = False, strict: bool = False,
         log: _Log | None = None, log_level: _Level = "warning"
         ) -> Program: ...
def program(text: str | bytes, params: _Params | None = None,
            copy: bool = True, *, files: _Files | None = None,
            threads: int = 1, max_memory: int = 0, max_depth: int = 0,
            max_steps: int = 0, timeout: float = 0.0, safe: bool = False,
            nan_stop: bool = False, strict: bool = False,
            log: _Log | None = None, log_level: _Level = "warning"
            ) -> Program: ...
# --- Tools --------------------------------------------------------------------

class Place(NamedTuple):
    file: str
    line: int
    column: int
    end_line: int
    end_column: int

class Found(NamedTuple):
    kind: str
    name: str | None
    type: str | None
    place: Place
    declared: Place | None

class Attribute(NamedTuple):
    name: str
    type: str
    required: bool
    optional: bool
    expression: bool
    words: tuple[str, ...] | None
    default: object

class Operator(NamedTuple):
    name: str
    aliases: tuple[str, ...]
    signature: str
    type: str
    doc: str
    formula: str | None
    example: str
    shows: str | None
    gradient: str | None
    fails: str | None
    prints: bool
    random: bool
    attributes: tuple[Attribute, ...]

def format(text: str | bytes, path: _Path = "<text>") -> str: ...
def operators() -> list[Operator]: ...

def load_ipython_extension(shell: Any) -> None: ...
