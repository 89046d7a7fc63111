# SPDX-License-Identifier: Apache-2.0
"""A kernel for Jupyter: cells are rly.

    python3 -m rly.kernel install [--user | --prefix DIR]"""
import json
import sys
import tempfile
from pathlib import Path

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from . import __version__
from ._library import Error
from .notebook import NAME, Notebook, interruptible

SPEC = {"argv": [sys.executable, "-m", "rly.kernel", "-f", "{connection_file}"],
        "display_name": "rly", "language": "rly"}


class RlyKernel(Kernel):
    implementation, implementation_version = "rly", __version__
    language_info = {"name": "rly", "version": __version__,
                     "mimetype": "text/x-rly", "file_extension": ".rly",
                     "pygments_lexer": "text"}
    banner = f"rly {__version__}: :doc NAME tells of a name"

    def __init__(self, **options):
        super().__init__(**options)
        self.notebook = Notebook(self.write, self.display)

    def send(self, kind, content):
        if not self.silent:
            self.send_response(self.iopub_socket, kind, content)

    def write(self, text):
        self.send("stream", {"name": "stdout", "text": text})

    def display(self, forms):
        self.send("execute_result" if "text/html" not in forms
                  else "display_data",
                  {"execution_count": self.execution_count, "data": forms,
                   "metadata": {}})

    def do_execute(self, code, silent, store_history=True,
                   user_expressions=None, allow_stdin=False, **_):
        self.silent = silent
        if not code.strip():
            return self.done("ok", payload=[], user_expressions={})
        try:
            interruptible(self.notebook.session, lambda: self.notebook.run(
                code, self.execution_count))
        except KeyboardInterrupt:
            return self.failed("KeyboardInterrupt", "interrupted",
                               ["interrupted"])
        except Error as error:
            codes = [c for c in error.codes if c]
            return self.failed(codes[0] if codes else type(error).__name__,
                               str(error).split("\n")[0], str(error).split("\n"))
        except (ValueError, KeyError, TypeError) as error:
            return self.failed(type(error).__name__, str(error), [str(error)])
        return self.done("ok", payload=[], user_expressions={})

    def done(self, status, **more):
        return {"status": status, "execution_count": self.execution_count,
                **more}

    def failed(self, name, said, lines):
        told = {"ename": name, "evalue": said, "traceback": lines}
        self.send("error", told)
        return self.done("error", **told)

    def do_complete(self, code, cursor_pos):
        matches, start = self.notebook.complete(code[:cursor_pos])
        return {"status": "ok", "matches": matches, "cursor_start": start,
                "cursor_end": cursor_pos, "metadata": {}}

    def do_inspect(self, code, cursor_pos, detail_level=0,
                   omit_sections=()):
        end = cursor_pos
        while end < len(code) and (code[end].isalnum() or code[end] in "_."):
            end += 1
        name = NAME.search(code[:end])
        text = self.notebook.doc(name.group()) if name else None
        return {"status": "ok", "found": text is not None, "metadata": {},
                "data": {"text/plain": text} if text is not None else {}}

    def do_is_complete(self, code):
        if self.notebook.unfinished(code):
            return {"status": "incomplete", "indent": "  "}
        return {"status": "complete"}


def install(words):
    from jupyter_client.kernelspec import KernelSpecManager
    prefix = words[words.index("--prefix") + 1] if "--prefix" in words else None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(SPEC, indent=1))
        print(KernelSpecManager().install_kernel_spec(
            folder, "rly", user="--user" in words, prefix=prefix))


if __name__ == "__main__":
    if sys.argv[1:2] == ["install"]:
        install(sys.argv[2:])
    else:
        IPKernelApp.launch_instance(kernel_class=RlyKernel)
