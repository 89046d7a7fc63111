"""A host that does all that hosts do, as everything.c does: load, bind, stream
through 1,000 sessions on 2 threads, fork(2), snapshot, restore in another
process, operators of its own, every error.

    everything.py FOLDER         does it, and says what went wrong; 0: nothing
    everything.py FOLDER resume  is the other process

What each part must give is worked out by hand beside it."""
import os
import subprocess
import sys
import threading

import numpy as np

import rly

TEXT = """
param @gain: float32;
let @sum = ref(0f);
def @step(%x: float32) -> float32 {
  ref_write(@sum, ref_read(@sum) + @gain * %x);
  ref_read(@sum)
}
def @div(%a: float32) { cast(1, dtype="int32") / cast(%a, dtype="int32") }
def @spin(%a: float32) -> float32 { @spin(%a) }
def @deep(%a: float32) -> float32 { 1f + @deep(%a) }
def @wide(%a: float32) { ones(shape=[100000000], dtype="float32") }
def @said(%a: float32) -> float32 { print_text("x"); @spin(%a) }
def @half(%a: float32) { sum(@halved([%a, 2f * %a])) }
def @slope(%a: float32) { sum(@halved([%a, %a]) * [%a, 3f]) }
"""
LIMITS = {"max_memory": 256 << 20, "max_depth": 10000, "max_steps": 10**6}
USERS, STEPS = 1000, 8
faults = []


def check(right, what):
    if not right:
        faults.append(what)
        print("wrong:", what, file=sys.stderr)


# --- Load and bind ---------------------------------------------------------------

class Host:
    def __init__(self, **options):
        self.program = rly.Program(threads=2, **options)
        self.calls = 0

        # Its derivative is the program's: half of what comes from above.
        @self.program.operator(
            "op @halved[n: Dim](%x: Tensor[(n), float32]) "
            "-> Tensor[(n), float32]",
            gradient="gradient @halved(%x) -> (%y, %g) { %g / 2f }")
        def halved(x):
            self.calls += 1
            if x[0] == 13:
                raise LookupError("not thirteen")
            return x / 2

        self.program.add(TEXT, "host").bind(gain=2)


# --- 1,000 sessions on 2 threads, fork(2) -------------------------------------------

def stream(host):
    """After k steps of i, session i holds 2 * i * k."""
    users = [host.program.session() for _ in range(USERS)]
    right = [0, 0]

    def serve(first):
        for k in range(1, STEPS + 1):
            for i in range(first, USERS, 2):
                right[first] += users[i].step(i) == 2 * i * k
    threads = [threading.Thread(target=serve, args=(t,)) for t in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(sum(right) == USERS * STEPS, "each of 1,000 sessions has its own sum")


def fork(host):
    """Parent and child go on from 6, each on its own."""
    s = host.program.session()
    s.step(3)
    child = os.fork()
    if child == 0:
        faults.clear()
        check(s.step(1) == 8, "the child goes on")
        check(host.program.session().step(1) == 2, "and begins anew")
        check(s.half(3) == 4.5, "its operators run")
        os._exit(len(faults))
    check(os.waitpid(child, 0)[1] == 0, "the child ends well")
    check(s.step(2) == 10, "the parent goes on")


# --- State ---------------------------------------------------------------------------

def remember(host, folder):
    s = host.program.session()
    s.step(5)
    before, forked = s.snapshot(), s.fork()
    check((s.step(1), s.step(1)) == (12, 14), "on from a snapshot")
    s.restore(before)
    check(s.step(2) == 14 and forked.step(0) == 10, "as it was")
    raises(rly.Misuse, "", lambda: forked.restore(before),
           "a snapshot is its own session's")
    s.save(f"{folder}/python.safetensors")
    check(subprocess.run([sys.executable, __file__, folder, "resume"]
                         ).returncode == 0, "another process goes on from there")


def resume(host, folder):
    s = host.program.session()
    s.load(f"{folder}/python.safetensors")
    check(s.step(1) == 16, "it goes on")
    check(s.state["@sum"] == 16, "as its state says")


# --- An operator of the host's own -------------------------------------------------------

def operate(host):
    s = host.program.session()
    before = host.calls
    check(s.half(3) == 4.5 and host.calls == before + 1, "the operator runs")
    # (a/2) a + (a/2) 3, whose derivative is a + 3/2
    value, (slope,) = host.program.grad("slope")(2)
    check((value, slope) == (5, 3.5), "and has its derivative")
    try:
        s.half(13)
        check(False, "it fails")
    except rly.RunError as error:
        check(error.codes == ["E0606"] and "not thirteen" in str(error)
              and isinstance(error.__cause__, LookupError), "as it says")


# --- Every error -------------------------------------------------------------------------

def raises(kind, words, call, what):
    try:
        call()
    except kind as error:
        check(words in f"{getattr(error, 'codes', '')} {error}", what)
    else:
        check(False, what)


def errors(host):
    p, s = host.program, host.program.session()
    raises(rly.RunError, "E0602", lambda: s.div(0), "division by zero")
    limited = {name: Host(**{name: most}).program.session()
               for name, most in LIMITS.items()}
    raises(rly.LimitError, "E0701", lambda: limited["max_memory"].wide(1),
           "memory")
    raises(rly.LimitError, "E0702", lambda: limited["max_depth"].deep(1),
           "depth")
    raises(rly.LimitError, "E0707", lambda: limited["max_steps"].spin(1),
           "steps")
    raises(rly.LimitError, "E0703",
           lambda: Host(timeout=1).program.session().spin(1), "time")
    check(all(t.step(1) == 2 for t in limited.values()),
          "sessions go on after all of them")
    stopped = p.session(write=lambda text: stopped.interrupt())
    raises(rly.Interrupted, "E0704", lambda: stopped.said(1), "interrupted")
    raises(AttributeError, "@none", lambda: s.none(1), "no function")
    raises(TypeError, "step()", lambda: s.step(1, 2), "a wrong number")
    raises(TypeError, "float64", lambda: s.step(np.ones(1)), "a wrong dtype")
    raises(rly.Refused, "E0207", lambda: p.add("1 + 1f;"), "a wrong text")
    raises(rly.Refused, "E0501", lambda: p.add_file("/none.rly"), "no file")
    raises(rly.Refused, "gain", lambda: rly.program(TEXT.replace(
        "@halved", "nn.relu")).step(1), "no value")
    raises(rly.Misuse, "threads", lambda: rly.Program(threads=-1), "misuse")


def main(folder, *words):
    host = Host()
    if words:
        resume(host, folder)
    else:
        stream(host)
        fork(host)
        remember(host, folder)
        operate(host)
        errors(host)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
