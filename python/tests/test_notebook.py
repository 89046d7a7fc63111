"""Cells in notebooks: the kernel by Jupyter's own client, the magics in
IPython."""
import json
import os
import queue
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import rly
from rly.notebook import Notebook, svg_lines

# Jupyter's and IPython's files are not the user's.
SCRATCH = tempfile.TemporaryDirectory()
os.environ.update(JUPYTER_RUNTIME_DIR=SCRATCH.name, IPYTHONDIR=SCRATCH.name)

PACKAGE = Path(rly.__file__).resolve().parent.parent
NOTEBOOK = PACKAGE.parent / "docs/tutorial/notebook.ipynb"


# --- Cells --------------------------------------------------------------------------

@pytest.fixture
def cells():
    notebook = Notebook(lambda text: said.append(text),
                        lambda forms: said.append(forms["text/plain"]))
    said = notebook.said = []
    return notebook


def test_cells(cells):
    cells.run("def @f(%x: int32) { %x + 1 }\n@f(3)", 1)
    cells.run("%it * 2 // of the cell before", 2)
    cells.run('print_text("hello");\n%_1 + %_2', 3)
    assert [text.rstrip("\n") for text in cells.said] == ["4", "8", "hello", "12"]
    cells.run("def @f(%x: int32) { %x + 100 }", 4)
    assert cells.value_of("@f(1)") == 101
    with pytest.raises(rly.Refused, match=r"\[5\]:1:9: error.E0102"):
        cells.run("@f(1) + @nothing", 5)


def test_cells_define_a_type_anew(cells):
    for number, fields in enumerate(["a: int32", "a: int32, b: int32"], 1):
        made = ", ".join("%x" for _ in fields.split(","))
        cells.run(f"type T {{ Node({fields}) }}\n"
                  f"def @mk(%x: int32) {{ Node({made}) }}", number)
        assert tuple(cells.program.mk(7)) == (7,) * number
        assert cells.program.data.Node(*range(number))


def test_commands(cells):
    cells.run("let @c = ref([1f, 2f]);\ndef @f() { ref_write(@c, [5f, 6f]); 7 }")
    for command in (":type @f", ":type (1, [2f])", ":doc @foldl", "@f()",
                    ":state", ":reset", ":state"):
        cells.run(command)
    assert cells.said[:2] == ["fn () -> int32",
                              "(int32, Tensor[(1), float32])"]
    pair = "Tensor[(2), float32]"
    assert "Folds from the left" in cells.said[2]
    assert cells.said[3:] == [
        "7", f"@c : ref({pair}) = {pair} [5.0, 6.0]",
        f"@c : ref({pair}) = {pair} [1.0, 2.0]"]
    for wrong, word in ((":nothing", ":doc, :plot"), (":plot True", "vector"),
                        (":doc @nothing", "@nothing"), (":plot", "expression")):
        with pytest.raises(ValueError, match=word):
            cells.run(wrong)


def test_completion(cells):
    assert cells.complete("let %x = nn.dens")[0] == ["nn.dense"]
    assert cells.complete("1 + @fold") == (
        ["@foldl", "@foldr", "@foldr1"], 4)
    assert cells.complete(":res") == ([":reset"], 0)
    assert cells.complete("1 + ") == ([], 4)
    assert cells.unfinished("def @f(") and not cells.unfinished("1 + 1")


def test_plot():
    """Points by hand: 100 wide and high leaves 80 by 60 within the margins."""
    svg = svg_lines([[0, 1, 3]], width=100, height=100)
    assert 'd="M10.0 80.0 L50.0 60.0 L90.0 20.0"' in svg
    assert svg_lines([[0, np.nan, 1]], width=100, height=100).count("M") == 2
    for odd in [[]], [[np.nan]], [[np.inf, 1]], [], [[5]], [[2, 2]]:
        assert "nan" not in svg_lines(odd) and "inf" not in svg_lines(odd)


def test_step(cells):
    pages = []
    cells.show = pages.append
    cells.run("def @f(%x: int32) { %x + 1 }")
    cells.run("@f(3)")
    cells.run("let %y = 1; // a comment")
    try:
        cells.run(":step")
    except ValueError as error:
        assert "not found" in str(error)  # rly is not built here
        return
    assert cells.script() == ("def @f(%x: int32) { %x + 1 }\n@f(3)\n;\n"
                              "let %y = 1; // a comment\n")
    assert pages[-1]["text/html"].startswith('<iframe srcdoc="<!DOCTYPE html>')


# --- The kernel ---------------------------------------------------------------------

class Client:
    """A kernel that runs, and its client."""

    def __init__(self):
        from jupyter_client.manager import KernelManager
        self.manager = KernelManager(kernel_name="rly", transport="ipc")
        self.manager._kernel_spec = self.spec()
        env = {**os.environ, "PYTHONPATH": str(PACKAGE),
               "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self.manager.start_kernel(env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready()

    @staticmethod
    def spec():
        from jupyter_client.kernelspec import KernelSpec
        from rly.kernel import SPEC
        return KernelSpec(argv=[sys.executable, *SPEC["argv"][1:]],
                          display_name="rly", language="rly")

    def message(self):
        """The next one that the kernel publishes, if it lives."""
        while True:
            try:
                return self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                assert self.manager.is_alive()

    def outputs(self, request):
        """What a request made the kernel show, until it is idle again."""
        found = []
        while True:
            message = self.message()
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return found
            if kind == "error":
                found.append((kind, content["ename"], content["traceback"]))
            elif kind in ("execute_result", "display_data"):
                found.append((kind, content["data"]))
            elif kind == "stream":
                found.append((kind, content["text"]))

    def run(self, code):
        # An error must not stop the cell after it, which may be there already.
        return self.outputs(self.client.execute(code, stop_on_error=False))

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    yield from new_kernel()


def new_kernel():
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")
    client = Client()
    yield client
    client.close()


tutor = pytest.fixture(new_kernel)


def test_kernel(kernel):
    assert kernel.run("def @f(%x: int32) { %x + 1 }") == []
    assert kernel.run("@f(3)") == [("execute_result", {"text/plain": "4"})]
    assert kernel.run('print_text("a"); 5')[0] == ("stream", "a")
    kind, name, lines = kernel.run("@f(3f)")[0]
    assert (kind, name) == ("error", "E0201") and "^" in "".join(lines)
    kind, name, lines = kernel.run("1 / 0")[0]
    assert (kind, name) == ("error", "E0602")
    (kind, data), = kernel.run(":plot [1f, 2f, 0f]")
    assert data["image/svg+xml"].startswith("<svg ")
    assert kernel.run(":nothing")[0][:2] == ("error", "ValueError")
    assert kernel.run("") == []


def test_kernel_for_editors(kernel):
    client = kernel.client
    reply = client.complete("1 + @fold", reply=True)["content"]
    assert reply["matches"] == ["@foldl", "@foldr", "@foldr1"]
    assert (reply["cursor_start"], reply["cursor_end"]) == (4, 9)
    reply = client.inspect("nn.dense(%x, %w)", 3, reply=True)["content"]
    assert reply["found"] and "(units, inputs)" in reply["data"]["text/plain"]
    assert not client.inspect("nothing", 3, reply=True)["content"]["found"]
    for text, status in ("def @f(", "incomplete"), ("1", "complete"):
        client.is_complete(text)
        reply = client.get_shell_msg()["content"]
        assert reply["status"] == status


def test_interrupt(kernel):
    kernel.run("def @spin(%n: int64) -> int64 "
               "{ if (%n < 0i64) { %n } else { @spin(%n + 1i64) } }\n"
               "let @before = 41;")
    request = kernel.client.execute('print_text("on"); @spin(0i64)',
                                    stop_on_error=False)
    while kernel.message()["msg_type"] != "stream":
        pass  # the run has not begun
    kernel.manager.interrupt_kernel()
    assert kernel.outputs(request)[0][:2] == ("error", "KeyboardInterrupt")
    assert kernel.run("@before + 1") == [("execute_result",
                                          {"text/plain": "42"})]


def test_tutorial(tutor):
    """Each cell of the notebook gives what is kept in it."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 8
    for cell in code:
        got = tutor.run("".join(cell["source"]))
        kept = []
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                kept.append(("stream", "".join(output["text"])))
            elif output["output_type"] == "error":
                kept.append(("error", output["ename"], output["traceback"]))
            else:
                data = {form: "".join(text)
                        for form, text in output["data"].items()}
                kept.append((output["output_type"], data))
        assert got == kept, "".join(cell["source"])


# --- IPython ------------------------------------------------------------------------

def test_magics(capsys):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython()
    shell.run_line_magic("load_ext", "rly")
    shell.run_cell_magic("rly", "", "def @twice(%x: Tensor[(?), float32]) "
                                    "{ %x + %x }\n@twice([1f, 2f])")
    said = capsys.readouterr().out
    assert said.endswith("Tensor[(2), float32] [2.0, 4.0]\n")
    twice = shell.user_ns["rly_program"].twice(np.ones(2, "float32"))
    np.testing.assert_array_equal(twice, [2, 2])
    assert shell.run_line_magic("rly", "3 * 4") == 12
    shell.run_cell_magic("rly", "", "@nothing")
    assert "@nothing" in capsys.readouterr().err
