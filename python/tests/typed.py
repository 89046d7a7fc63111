"""What mypy --strict says of programs that use the package: nothing, but where
a comment says which mistake it finds; a comment without its mistake is one.
Nothing of this is run."""
from collections.abc import Iterator
from typing import Any

import numpy as np

import rly

files = {"m.rly": b"def @main() { 1 }"}
p: rly.Program = rly.load("m.rly", params={"w": np.zeros(3)}, files=files)
p.bind("w.npz").bind(w=[1, 2], copy=False).add("def @f() { 1 }")
y: Any = p.main(np.ones(3), copy=False)
y = p["or"](None, 3)
names: list[str] = p.names
first = p.params[0]
dtype: str | None = first["dtype"]
Node = p.data.Node
node: rly.Data = Node(1, right=2)
node.left + node.right


@p.operator("op @double(%x: float32) -> float32", effect=True)
def double(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.copy()


s: rly.Session = p.session(write=print)
results: Iterator[Any] = s.stream([1, 2], step="step")
snapshot = s.snapshot()
s.restore(snapshot)
s.state["@n"] = 1
cells: dict[str, str | None] = s.state.paths()
try:
    s.run()
except rly.RunError as error:
    codes: list[str | None] = error.codes
except (rly.LimitError, rly.Interrupted):
    s.reset()

row = rly.operators()[0]
signature: str = row.signature
words: tuple[str, ...] | None = row.attributes[0].words
laid_out: str = rly.format("def @f() { 1 }")
at = p.find("m.rly", 1, 5)
if at is not None and at.declared is not None:
    declared: int = at.declared.line

def note(level: str, message: str, parts: dict[str, Any] | None) -> None: ...


logged = rly.Program(log=note, log_level="info")
rly.Program(log=note, log_level="all")  # type: ignore[arg-type]
rly.format(3)  # type: ignore[arg-type]
p.find("m.rly", "1", 5)  # type: ignore[arg-type]
rly.load(3)  # type: ignore[arg-type]
rly.program("", threads="two")  # type: ignore[arg-type]
rly.program("", thread=2)  # type: ignore[call-arg]
p.bind(copy="no")  # type: ignore[arg-type]
p.params[0]["shape"]  # type: ignore[typeddict-item]
p.operator(double)  # type: ignore[arg-type]
s.restore("snapshot")  # type: ignore[arg-type]
s.save(None)  # type: ignore[arg-type]
s.stream(3)  # type: ignore[arg-type]
p.session(write=3)  # type: ignore[arg-type]
rly.Programm  # type: ignore[attr-defined]
