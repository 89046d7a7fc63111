"""The package, against numpy and numbers worked out by hand."""
import copy
import gc
import inspect
import io
import json
import multiprocessing
import os
import pickle
import pydoc
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import rly

F32 = "float32"


# --- Values -------------------------------------------------------------------

def test_function():
    p = rly.program("def @scale(%x: Tensor[(?, 2), float32], %by: float32) "
                    "{ %x * %by }")
    x = np.arange(6, dtype=F32).reshape(3, 2)
    np.testing.assert_array_equal(p.scale(x, 0.5), x * np.float32(0.5))
    np.testing.assert_array_equal(p.scale(by=2, x=x), x + x)
    np.testing.assert_array_equal(p.scale(x.T.copy().T, 2), x + x)  # strided
    assert "scale" in dir(p) and p.scale.params == ["x", "by"]
    assert p.scale.type == ("fn (Tensor[(?, 2), float32], float32) -> "
                            "Tensor[(?, 2), float32]")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float16",
                                   "float64", "bool"])
def test_dtypes(dtype):
    p = rly.program(f"def @same(%x: Tensor[(?), {dtype}]) {{ %x }}\n"
                    f"def @one(%x: {dtype}) {{ %x }}")
    x = np.array([0, 1, 1, 0], dtype)
    y = p.same(x)
    assert y.dtype == x.dtype and (y == x).all()
    assert p.one(x[1]) == x[1] and p.one(x[1]).dtype == x.dtype
    assert p.same(x[:0]).shape == (0,)


def test_no_silent_conversion():
    p = rly.program("def @f(%x: Tensor[(2), int32]) { %x }")
    assert (p.f([1, 2]) == [1, 2]).all()  # numbers take the dtype
    for wrong in (np.array([1, 2]), [1.5, 2]):
        with pytest.raises(TypeError):
            p.f(wrong)


# A number takes the dtype where it has it, wherever it is given; no string is a
# number.
@pytest.mark.parametrize("dtype, number, becomes", [
    ("float32", 1, 1), ("float32", 1.5, 1.5), ("float32", np.float64(1.5), 1.5),
    ("float32", np.int64(3), 3), ("float32", float("inf"), float("inf")),
    ("float32", True, 1), ("float32", 1e300, None), ("float32", "1", None),
    ("float32", 2**2000, None), ("float32", 1j, None), ("float64", 2**70, 2**70),
    ("int32", 1.0, 1), ("int32", np.int64(1), 1), ("int32", np.uint8(3), 3),
    ("int32", 1.5, None), ("int32", 2**40, None), ("int32", np.int64(2**40), None),
    ("uint8", -1, None), ("bool", 1, True), ("bool", 2, None)])
def test_numbers(dtype, number, becomes):
    p = rly.program(f"""
        def @plain(%x: {dtype}) {{ %x }}
        def @inside(%x: ({dtype}, int32)) {{ %x.0 }}
        def @listed(%x: List[{dtype}]) {{ %x }}
        def @same() {{ fn (%x: {dtype}) {{ %x }} }}
        def @given(%f: fn (int32) -> {dtype}) {{ %f(1) }}
        let @cell = ref(cast(0, dtype="{dtype}"));
        param @p: {dtype};
        def @bound() {{ @p }}
    """)
    cells = p.session_of_its_own.state

    def through_cell(x):
        cells["@cell"] = x
        return cells["@cell"]
    for way in (p.plain, lambda x: p.inside((x, 1)),
                lambda x: p.listed([x])[0], p.same(), through_cell,
                lambda x: p.bind(p=x).bound(), lambda x: p.given(lambda _: x)):
        if becomes is None:
            with pytest.raises((TypeError, rly.RunError), match=f"no {dtype}"):
                way(number)
        else:
            found = way(number)
            assert found == becomes and found.dtype == dtype


# What numpy would make of such a list are floats, which have not all integers.
@pytest.mark.parametrize("dtype, numbers", [
    ("uint64", [2**63 + 1, 5]), ("uint64", [np.uint64(2**64 - 1), 5]),
    ("int64", [2**53 + 1, 0.0]), ("int64", [2**53 + 1, np.float32(2)])])
def test_lists_of_integers(dtype, numbers):
    p = rly.Program()

    @p.operator(f"op @given(%x: int32) -> Tensor[(2), {dtype}]")
    def given(_):
        return numbers
    p.add(f"""
        def @plain(%x: Tensor[(2), {dtype}]) {{ %x }}
        let @cell = ref([cast(0, dtype="{dtype}"), cast(0, dtype="{dtype}")]);
        param @p: Tensor[(2), {dtype}];
        def @bound() {{ @p }}
        def @computed() {{ @given(1) }}
    """)
    cells = p.session_of_its_own.state
    cells["@cell"] = numbers
    for found in (p.plain(numbers), cells["@cell"], p.bind(p=numbers).bound(),
                  p.computed()):
        assert found.tolist() == numbers and found.dtype == dtype
    for wrong in [2**53 + 1, 0.5], [2**53 + 1, np.nan], [2**64, np.inf]:
        with pytest.raises(TypeError, match=f"no {dtype}"):
            p.plain(wrong)


# They take a byte each, as numpy's int8, and are no int8 of rly's.
@pytest.mark.parametrize("dtype, wrong", [("int4", 8), ("uint4", 16)])
def test_four_bits(dtype, wrong):
    p = rly.Program()
    given = [1, 7]

    @p.operator(f"op @given(%x: int32) -> Tensor[(2), {dtype}]")
    def operator(_):
        return given
    p.add(f"""
        def @plain(%x: Tensor[(2), {dtype}]) {{ %x }}
        def @inside(%x: (Tensor[(2), {dtype}], int32)) {{ %x.0 }}
        def @listed(%x: List[{dtype}]) {{ %x }}
        let @cell = ref([cast(0, dtype="{dtype}"), cast(0, dtype="{dtype}")]);
        param @p: Tensor[(2), {dtype}];
        def @bound() {{ @p }}
        def @computed() {{ @given(1) }}
    """)
    cells = p.session_of_its_own.state

    def through_cell(x):
        cells["@cell"] = x
        return cells["@cell"]
    ways = (p.plain, lambda x: p.inside((x, 1)), p.listed, through_cell,
            lambda x: p.bind(p=x).bound())
    for way in ways:
        assert list(way(given)) == given
        with pytest.raises(rly.Error, match="none of the dtype"):
            way([1, wrong])
    assert p.computed().tolist() == given
    given[1] = wrong
    with pytest.raises(rly.RunError, match=f"an element .* is no {dtype}"):
        p.computed()


def test_masked_arrays():
    p = rly.program("""
        def @f(%x: Tensor[(?), float32]) { %x }
        param @p: Tensor[(?), float32];
        def @bound() { @p }""")
    masked = np.ma.masked_equal(np.array([1, 2], F32), 2)
    for way in p.f, lambda x: p.bind(p=x):
        with pytest.raises(TypeError, match="masked elements"):
            way(masked)
    assert p.f(masked.filled(0)).tolist() == [1, 0]
    assert p.f(np.ma.masked_equal(np.array([1, 2], F32), 3)).tolist() == [1, 2]


def test_tuples_and_lists():
    p = rly.program("""
        def @swap(%p: (int32, (float32, bool))) { (%p.1, %p.0) }
        def @double(%l: List[int32]) { @map(fn (%i: int32) { %i * 2 }, %l) }
        def @first(%l: List[int32]) -> Option[int32] {
          match (%l) { Nil => None, Cons(%x, _) => Some(%x) } }
        def @or(%o: Option[float32], %d: float32) -> float32 {
          match (%o) { Some(%x) => %x, None => %d } }""")
    assert p.swap((1, (2.5, True))) == ((2.5, True), 1)
    assert p.double(range(5)) == [0, 2, 4, 6, 8]
    assert p.double([]) == []
    many = list(range(20000))  # deeper than any stack
    assert p.double(many) == [2 * i for i in many]
    assert p.first([7, 8]) == 7 and p.first([]) is None
    assert p["or"](None, 3) == 3
    assert p["or"](2, 3) == 2
    with pytest.raises(TypeError, match="tuple of 2"):
        p.swap((1, 2, 3))
    with pytest.raises(TypeError, match="a list is wanted, not 5"):
        p.double(5)


def test_tensors_in_tuples():
    p = rly.program("""
        def @f[n: Dim](%p: (Tensor[(n), float32], (Tensor[(n), float32], bool)))
          { %p.0 + %p.1.0 }
        def @four(%p: (Tensor[(4), float32], int32)) { %p.0 }
        def @all(%l: List[(Tensor[(?), float32], int32)]) {
          @map(fn (%p: (Tensor[(?), float32], int32)) { sum(%p.0) }, %l) }""")
    x = np.ones(3, F32)
    np.testing.assert_array_equal(p.f((x, (x, True))), x + x)
    with pytest.raises(rly.RunError, match="n is 3"):
        p.f((x, (np.ones(4, F32), True)))
    with pytest.raises(rly.Refused, match=r"\(4\).* but .*\(3\)"):
        p.four((x, 1))
    assert p.all([(x, 1), (np.ones(5, F32), 2)]) == [3, 5]


TREE = """
type Tree { Leaf, Node(left: Tree, here: float32, right: Tree) }
def @mirror(%t: Tree) -> Tree { match (%t) { Leaf => Leaf,
  Node(%l, %x, %r) => Node(@mirror(%r), %x, @mirror(%l)) } }
"""


def total(tree):
    match tree:
        case rly.Data(_fields=()):
            return 0
        case rly.Data(left=left, here=here, right=right):
            return total(left) + here + total(right)


def test_data():
    p = rly.program(TREE)
    Leaf, Node = p.data.Leaf, p.data.Node
    leaf = Leaf()
    tree = Node(Node(leaf, 1, leaf), 2, right=leaf)
    mirrored = p.mirror(tree)
    assert mirrored == Node(leaf, 2, Node(leaf, 1, leaf))
    assert mirrored != tree and mirrored.here == 2
    assert isinstance(mirrored, Node) and total(mirrored) == 3
    match mirrored:
        case Node(Leaf(), here, Node(here=below)):
            assert (here, below) == (2, 1)
        case _:
            pytest.fail("no match")
    with pytest.raises(TypeError, match="one of Leaf, Node"):
        p.mirror(3)
    with pytest.raises(TypeError, match="Node needs 'right'"):
        Node(leaf, here=1)
    with pytest.raises(AttributeError):
        p.data.Twig


def test_data_that_is_defined_anew():
    p = rly.program("type T { Node(a: int32), Nodes(int32) }"
                    "def @mk(%x: int32) { Node(%x) }"
                    "def @old(%t: T) { match (%t) { Node(%a) => %a,"
                    " Nodes(%a) => %a } }")
    Node = p.data.Node
    assert p.mk(1) == Node(1) and p.old(Node(2)) == 2
    p.add("type T { Node(a: int32, b: int32), Nodes(int32, int32) }")
    p.add("def @mk(%x: int32) { Node(%x, 2) }"
          "def @new(%t: T) { match (%t) { Node(%a, %b) => %b, _ => 0 } }")
    New = p.data.Node
    assert New is not Node and p.mk(1) == New(1, 2) and p.mk(1).b == 2
    assert p.new(New(1, 5)) == 5 and p.new(p.data.Nodes(1, 2)) == 0
    assert p.old(Node(2)) == 2  # goes on with the type that it was checked for
    for function, value in (p.new, Node(1)), (p.old, New(1, 2)):
        with pytest.raises(TypeError, match="one of Node, Nodes is wanted, "
                                            "not .* of another type"):
            function(value)


def test_none_is_no_number():
    p = rly.program("def @f(%x: float32) { %x }\n"
                    "def @g(%x: Tensor[(?), float32]) { %x }")
    for call in p.f, p.g:
        with pytest.raises(TypeError, match="None is no float32"):
            call(None)
    with pytest.raises(TypeError, match="a text is wanted"):
        p.add(3)


def test_pickles():
    p, q = rly.program(TREE), rly.program(TREE)
    Leaf, Node = p.data.Leaf, p.data.Node
    tree = Node(Leaf(), 1, Node(Leaf(), 2, Leaf()))
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree and isinstance(again, q.data.Node)
    assert q.mirror(again) == p.mirror(tree) == copy.deepcopy(p.mirror(again))
    assert p.mirror(Leaf) == Leaf()  # as rly writes it
    other = rly.program("type Tree { Leaf, Node(x: int32) }\n"
                        "def @f(%t: Tree) { %t }")
    assert other.data.Node is not Node and other.data.Leaf is Leaf
    for what in p, p.session():
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(what)


def test_help():
    p = rly.program("/// Twice the number.\n"
                    "def @twice(%x: float32) -> float32 { %x + %x }")
    assert p.twice.__doc__ == ("def @twice(%x: float32) -> float32\n"
                               "\nTwice the number.\n")
    assert str(inspect.signature(p.twice)) == "(x, *, copy=True, raw=False)"
    assert "Twice the number." in pydoc.render_doc(p.twice)


def test_completion():
    p = rly.program(TREE)
    s = p.session()
    assert "mirror" in dir(p) and "mirror" in dir(s) and "stream" in dir(s)
    assert {"Leaf", "Node"} <= set(dir(p.data))


def test_functions_in_place_of_names():
    p = rly.program(COUNTER + "def @square(%x: float32) { %x * %x }")
    s, old = p.session(), p.square
    assert list(s.stream([1, 2], step=p.step)) == [1, 3] and p.step(1) == 1
    assert p.grad(old)(3) == p.grad("square")(3) == (9, (6,))
    p.add("def @square(%x: float32) { %x * %x }")
    for function in old, rly.program("def @square(%x: float32) { %x }").square:
        with pytest.raises(rly.Misuse, match="defined anew"):
            p.grad(function)
    for wrong in (lambda: p.has(5), lambda: p[5], lambda: s.call(5),
                  lambda: s.state[5], lambda: p.grad(5), lambda: p.bind({5: 1})):
        with pytest.raises(TypeError, match="is wanted, not 5"):
            wrong()


def test_functions_as_values():
    p = rly.program("def @adder(%n: int32) { fn (%x: int32) { %x + %n } }")
    add = p.adder(5)
    assert isinstance(add, rly.Function) and add(np.int32(2)) == 7
    assert add.type == "fn (int32) -> int32"


HIGHER = """
def @twice(%f: fn (Tensor[(?), float32]) -> Tensor[(?), float32],
           %x: Tensor[(?), float32]) { %f(%f(%x)) }
def @fold(%f: fn (int32, int32) -> int32, %l: List[int32]) {
  @foldl(%f, 0, %l) }
def @add(%a: int32, %b: int32) -> int32 { %a + %b }
def @pairs(%f: fn ((int32, int32)) -> int32) { %f((1, 2)) }
def @both(%f: fn (int32, int32) -> (int32, int32)) { %f(17, 5) }
def @halves(%f: fn (Tensor[(?), float32])
              -> (Tensor[(?), float32], Tensor[(?), float32])) {
  %f([1f, 2f, 4f]) }
"""


def test_functions_as_arguments():
    p = rly.program(HIGHER)
    x = np.array([1, 2], F32)
    calls = []

    def doubled(y):  # twice as long
        calls.append(len(y))
        return np.concatenate([y, y])
    np.testing.assert_array_equal(p.twice(doubled, x), np.tile(x, 4))
    assert calls == [2, 4]  # each call is one of the function
    np.testing.assert_array_equal(p.twice(lambda y: y * 3, x), x * 9)
    assert p.fold(lambda a, b: a + 10 * b, [1, 2, 3]) == 60
    assert p.both(divmod) == (3, 2)
    first, rest = p.halves(lambda y: (y[:1], y[1:]))
    assert first.tolist() == [1] and rest.tolist() == [2, 4]
    assert p.fold(p["add"], [1, 2, 3]) == 6 == p.fold(max, [1, 6, 3])
    names = len(p.names)
    assert p.fold(max, [3, 2]) == 3 and len(p.names) == names  # added once
    with pytest.raises(rly.RunError, match="no good") as caught:
        def fails(a, b):
            raise KeyError("no good")
        p.fold(fails, [1])
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(rly.RunError, match="2147483648 is no int32"):
        p.fold(lambda a, b: np.int64(2**31), [1])
    with pytest.raises(rly.RunError, match="1.5 is no int32"):
        p.fold(lambda a, b: 1.5, [1])
    with pytest.raises(TypeError, match="takes tensors, and gives one"):
        p.pairs(lambda pair: pair[0])
    with pytest.raises(TypeError, match="is wanted"):
        p.fold(3, [1])
    p.add("def @named[n: Dim](%f: fn (Tensor[(n), int32]) -> Tensor[(n), int32], "
          "%x: Tensor[(n), int32]) { %f(%x) }")
    with pytest.raises(TypeError, match="of no named dimension.*write `[?]`"):
        p.named(lambda x: x, [1])
    with pytest.raises(rly.Refused, match="argument 1"):
        p.fold(p.pairs, [1])


def test_a_function_of_another_program_is_refused():
    text = "def @f(%x: int32) { %x + 1 }"
    p = rly.program(text + "def @apply(%g: fn (int32) -> int32) { %g(5) }")
    s, old = p.session(), p.f
    assert p.apply(old) == s.apply(old) == s.apply(s.f) == 6
    assert s.call(old, 1) == 2
    p.add("def @f(%x: int32) { %x * 100 }")
    assert p.apply(p.f) == 500
    for function in old, rly.program(text).f:
        for call in p.apply, lambda f: s.call(f, 5):
            with pytest.raises(rly.Misuse, match="no function of the program"):
                call(function)


def test_a_session_calls_functions_on_its_own_state():
    p = rly.program(COUNTER)
    s = p.session()
    assert (s.call(p.step, 1), s.call(p.step, 1), p.step(1)) == (1, 2, 1)


class Times:
    def __init__(self, factor):
        self.factor = np.float32(factor)

    def __call__(self, x):
        return x * self.factor


KEEPING = """
let @kept = ref(fn (%x: float32) -> float32 { %x });
def @keep(%f: fn (float32) -> float32) { ref_write(@kept, %f) }
def @call(%x: float32) { let %f = ref_read(@kept); %f(%x) }
def @now(%f: fn (float32) -> float32) { %f(1f) }
"""


def test_functions_live_as_long_as_values_refer_to_them():
    p = rly.program(KEEPING)
    s, twice = p.session_of_its_own, Times(2)
    seen = weakref.ref(twice)
    assert p.now(twice) == 2
    names = len(p.names)
    p.keep(twice)
    del twice
    gc.collect()
    assert p.call(3) == 6
    forked = s.fork()
    p.keep(Times(5))
    gc.collect()
    assert p.call(3) == 15 and forked.call("call", 3) == 6
    del forked
    gc.collect()
    assert seen() is None and len(p.names) == names


def test_a_function_that_is_kept_to_the_end():
    program = (f"import rly\np = rly.program({KEEPING!r})\n"
               "p.keep(lambda x: x)")
    said = subprocess.run([sys.executable, "-c", program], check=True,
                          stderr=subprocess.PIPE).stderr
    assert said == b""


# --- Memory ---------------------------------------------------------------------

def address(array):
    return array.__array_interface__["data"][0]


def test_results_share_memory():
    p = rly.program("def @twice(%x: Tensor[(?), float32]) { (%x + %x, %x) }")
    y, _ = p.twice(np.ones(5000, F32))
    assert not y.flags.writeable and not y.flags.owndata
    del p, _
    assert (y == 2).all()  # the array keeps what it needs
    with pytest.raises(ValueError):
        y[0] = 1


def test_arguments_without_a_copy():
    p = rly.program("def @same(%x: Tensor[(?), float32]) { %x }")
    x = np.ones(5000, F32)
    assert address(p.same(x, copy=False)) == address(x)
    assert address(p.same(x)) != address(x)
    count = sys.getrefcount(x)
    y = p.same(x, copy=False)
    assert sys.getrefcount(x) == count + 1  # held while rly holds it
    del y
    assert sys.getrefcount(x) == count


class Lender:
    """A tensor of another library, as far as it can be seen."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device, 0


def test_dlpack_in():
    p = rly.program("def @same(%x: Tensor[(?, ?), float32]) { %x }\n"
                    "def @pair(%x: (Tensor[(?, ?), float32], int32)) { %x.0 }")
    x = np.arange(10000, dtype=F32).reshape(100, 100)
    np.testing.assert_array_equal(p.same(Lender(x.T)), x.T)
    y = p.pair((Lender(x), 1), copy=False)
    assert address(y) == address(x)
    del y
    count = sys.getrefcount(x)
    y = p.same(Lender(x), copy=False)
    assert sys.getrefcount(x) == count + 1
    del y
    assert sys.getrefcount(x) == count
    with pytest.raises(rly.Refused, match="in memory is wanted"):
        p.pair((Lender(x, device=2), 1))
    with pytest.raises(rly.Refused, match="code 5, 64 bits"):
        p.pair((Lender(x.astype("complex64")), 1))
    assert sys.getrefcount(x) == count


def test_dlpack_out():
    p = rly.program("def @twice(%x: Tensor[(?), float32]) { %x + %x }\n"
                    "def @two() { (1, 2) }")
    value = p.twice(np.ones(5000, F32), raw=True)
    assert value.__dlpack_device__() == (1, 0)
    first, second = np.from_dlpack(value), np.from_dlpack(value)
    assert address(first) == address(second) and first.sum() == 10000
    copied = value.__dlpack__(copy=True)
    del value, p, second, copied  # a capsule that nobody took
    assert first.sum() == 10000
    with pytest.raises(BufferError, match="no tensor"):
        rly.program("def @two() { (1, 2) }").two(raw=True).__dlpack__()


def test_handles_as_arrays():
    p = rly.program("def @same(%x: Tensor[(?), float32]) { %x }\n"
                    "def @two() { (1, 2) } def @bf() { [1bf16] }")
    value = p.same([1, 2], raw=True)
    assert np.asarray(value).tolist() == [1, 2]
    assert np.asarray(value, "float64").dtype == "float64"
    for other in p.two(raw=True), p.bf():
        with pytest.raises(TypeError, match="no array"):
            np.asarray(other)


def test_torch():
    torch = pytest.importorskip("torch")
    p = rly.program("""param @w: Tensor[(3), bfloat16];
        def @twice(%x: Tensor[(?, ?), bfloat16]) { %x + %x }
        def @scaled() { @w * 2bf16 }
        def @relu(%x: Tensor[(?), float32]) { nn.relu(%x) }""")
    x = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
    y = torch.from_dlpack(p.twice(x.T))
    assert y.dtype is torch.bfloat16 and torch.equal(y, 2 * x.T)
    p.bind(w=x[1], copy=False)
    assert torch.equal(torch.from_dlpack(p.scaled()), 2 * x[1])
    z = torch.tensor([-1.0, 2.0])
    assert (p.relu(z) == [0, 2]).all()
    with pytest.raises(rly.Refused, match="bfloat16"):
        p.twice(x.to(torch.float32))


def test_strided_arguments():
    p = rly.program("def @same(%x: Tensor[(?, ?), float32]) { %x }\n"
                    "def @two(%x: Tensor[(2, 3), float32]) { transpose(%x) }")
    x = np.arange(24, dtype=F32).reshape(4, 6)
    for view in x.T, x[::2, ::-3], x[:0], np.broadcast_to(x[0], (3, 6)):
        np.testing.assert_array_equal(p.same(view), view)
        np.testing.assert_array_equal(p.same(view, copy=False), view)
    np.testing.assert_array_equal(p.two(x[:2, ::2]), x[:2, ::2].T)
    packed = np.zeros(4, [("a", "<i2"), ("b", "<f4")])["b"].reshape(2, 2)
    assert packed.strides == (12, 6)  # no whole floats apart
    np.testing.assert_array_equal(p.same(packed), packed)
    odd = np.frombuffer(b"\0" + x.tobytes(), F32, 24, offset=1).reshape(4, 6)
    for view in odd, odd.T:
        np.testing.assert_array_equal(p.same(view), view)
        np.testing.assert_array_equal(p.same(view, copy=False), view)
    big = np.arange(40000, dtype=F32).reshape(200, 200)
    transposed = p.same(big.T, copy=False)
    np.testing.assert_array_equal(transposed, big.T)


def test_results_of_any_size():
    p = rly.program("def @ones(%n: int32) { ones(shape=[%n], dtype=\"int8\") }")
    for n in 0, 1, 4096, 4097, 100000:
        y = p.ones(n)
        assert y.shape == (n,) and (y == 1).all()
    for n in 2**31, -2**31 - 1:
        with pytest.raises(TypeError, match="is no int32"):
            p.ones(n)


def test_a_result_stays_as_it_was():
    p = rly.program("let @h = ref(zeros(shape=[2000], dtype=\"float32\"));\n"
                    "def @step() { ref_write(@h, ref_read(@h) + 1f); "
                    "ref_read(@h) }")
    first = p.step()
    p.step()
    assert (first == 1).all()


def test_arrays_of_too_many_dimensions():
    p = rly.program("def @f(%x: Tensor[(?), float32]) { %x }"
                    "def @g(%x: (Tensor[(?), float32], int32)) { %x.0 }"
                    "param @w: Tensor[(?), float32];")
    f, x = p.f, np.ones((1,) * 9, F32)
    wide = np.ones((2,) * 9, F32).T
    for call in (f, f, lambda x: f(x, copy=False), lambda x: p.g((x, 1)),
                 lambda x: p.bind(w=x)):
        for array in x, wide:
            with pytest.raises(ValueError, match="9 dimensions.* at most 8"):
                call(array)
    assert f([1]) == 1


# --- Params ---------------------------------------------------------------------

MODEL = """param @w: Tensor[(3, 2), float32];
param @b: Tensor[(3), float32] = zeros(shape=[3], dtype="float32");
def @main(%x: Tensor[(?, 2), float32]) { nn.dense(%x, @w) + @b }
"""


def test_params(tmp_path):
    w = np.arange(6, dtype=F32).reshape(3, 2)
    x = np.array([[1, 2], [3, 4]], F32)
    file = tmp_path / "m.rly"
    file.write_text(MODEL)
    p = rly.load(file, params={"w": w})
    np.testing.assert_array_equal(p.main(x), x @ w.T)
    assert [(q["name"], q["default"], q["bound"]) for q in p.params] == [
        ("w", False, True), ("b", True, False)]
    np.savez(tmp_path / "m.npz", w=w, b=np.ones(3, F32))
    p = rly.load(file, params=tmp_path / "m.npz")
    np.testing.assert_array_equal(p.main(x), x @ w.T + 1)
    p = rly.load(file)
    with pytest.raises(rly.Refused, match="`w`"):
        p.main(x)
    with pytest.raises(TypeError, match="float64"):
        p.bind(w=w.astype("float64"))
    with pytest.raises(rly.Refused, match="nothing named `bias`"):
        p.bind(w=w, bias=np.zeros(3, F32))
    with pytest.raises(rly.Refused, match=r"Tensor\[\(2, 3\), float32\]"):
        p.bind(w=w.T.copy())
    np.testing.assert_array_equal(p.main(x), x @ w.T)  # as it was


def test_files_in_memory():
    files = {"app/m.rly": 'import "lib.rly";\n' + MODEL.replace("+ @b", "+ @c()"),
             "app/lib.rly": b"def @c() { 3f }"}
    w = np.arange(6, dtype=F32).reshape(3, 2)
    archive = io.BytesIO()
    np.savez(archive, w=w)
    files["w.npz"] = archive.getbuffer()
    p = rly.load("app/m.rly", params="w.npz", files=files)
    x = np.array([[1, 2]], F32)
    np.testing.assert_array_equal(p.main(x), x @ w.T + 3)
    with pytest.raises(rly.Refused, match="cannot read app/none.rly"):
        p.add_file("app/none.rly")
    p = rly.program(COUNTER, files=files)
    s, t = p.session(), p.session()
    s.step(5)
    s.save("state")
    assert isinstance(files["state"], bytes) and not os.path.exists("state")
    t.load("state")
    assert t.step(1) == 6
    files["state"] = files["state"][:-1]
    with pytest.raises(rly.Refused, match="state"):
        t.load("state")


# --- Errors -----------------------------------------------------------------------

class Broken(dict):
    def get(self, path, default=None):
        raise OSError(f"no {path} today")

    def __setitem__(self, path, data):
        raise OSError(f"{path} is full")


def test_what_files_raise(capfd):
    with pytest.raises(OSError, match="no m.rly today"):
        rly.load("m.rly", files=Broken())
    files = {"m.rly": "let @c = ref(1f); param @w: float32 = 1f;"}
    p = rly.load("m.rly", files=files)
    s = p.session()
    s.save("s.safetensors")
    files["w.npz"] = 5  # no bytes
    with pytest.raises(TypeError, match="int"):
        p.bind("w.npz")
    with pytest.raises(rly.Refused, match="other.npz"):
        p.bind("other.npz")
    full = rly.program("let @c = ref(1f);", files=Broken()).session()
    with pytest.raises(OSError, match="s.safetensors is full"):
        full.save("s.safetensors")
    with pytest.raises(OSError, match="no s.safetensors today"):
        full.load("s.safetensors")
    with pytest.raises(AttributeError, match="get"):
        rly.load("m.rly", files=3)
    assert capfd.readouterr().err == ""


def test_errors(tmp_path):
    with pytest.raises(rly.Refused) as caught:
        rly.program("def @main() { 1 + 2f }")
    assert "^" in str(caught.value) and "int32" in str(caught.value)
    assert caught.value.diagnostics[0]["code"] in str(caught.value)
    p = rly.program("def @div(%a: int32) -> int32 { 1 / %a }\n"
                    "def @loop(%a: int32) -> int32 { @loop(%a) }",
                    max_steps=100000)
    with pytest.raises(rly.RunError) as caught:
        p.div(0)
    assert caught.value.codes == ["E0602"]
    assert p.div(1) == 1  # none the worse for it
    with pytest.raises(rly.LimitError):
        p.loop(1)
    with pytest.raises(rly.Misuse, match="argument 1 .* another session"):
        p.div(rly.program("def @f() { fn (%x: int32) { %x } }").f())
    with pytest.raises(AttributeError):
        p.nothing
    with pytest.raises(KeyError, match="no function @nothing"):
        p["nothing"]
    with pytest.raises(TypeError, match=r"div\(\) takes \(a\)"):
        p.div(1, 2)
    with pytest.raises(rly.Refused, match="none.rly"):
        rly.load(tmp_path / "none.rly")
    with pytest.raises(rly.Misuse, match="threads"):
        rly.Program(threads=-1)


def test_texts_with_a_nul(tmp_path):
    file = tmp_path / "a"
    file.write_text("def @main() { 1 }\nlet @c = ref(1);\nparam @w: int32;")
    p, s = rly.load(file), rly.load(file).session()
    cut = f"{file}\0b"
    for call in (lambda: rly.load(cut), lambda: rly.load(file, params=cut),
                 lambda: p.add("", cut), lambda: p.bind({"w\0": 1}),
                 lambda: s.save(cut), lambda: s.load(cut),
                 lambda: rly.format("", cut), lambda: p.find(cut, 1, 1),
                 lambda: s.state["@c\0"], lambda: s.state.update({"@c\0": 1}),
                 lambda: p.operator("op @f(%x: int32) -> int32\0")(abs)):
        with pytest.raises(ValueError, match="null byte"):
            call()
    assert p.has("main") and not p.has("main\0")
    assert not hasattr(p, "main\0") and not hasattr(s, "main\0")
    with pytest.raises(KeyError):
        p["main\0"]


def test_print():
    said = []
    p = rly.program('def @main() { print_text("hello"); 1 }')
    assert p.session(write=said.append).main() == 1
    assert "".join(said).strip() == "hello"


class Failing:
    """Called with anything, it raises what is to come next."""

    def __init__(self):
        self.error, self.calls = None, 0

    def __call__(self, *_):
        self.calls += 1
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt,
                                   SystemExit])
def test_what_write_raises(error, capfd):
    p = rly.program(LOOP + """
        def @ends(%x: int32) { print_text("a"); print_text("b"); %x }
        def @goes_on(%x: int32) { print_text("a"); @loop(%x) }
        def @fails(%x: int32) { print_text("a"); %x / 0 }
        let @cell = ref(1);""")
    write = Failing()
    s = p.session(write=write)
    for function in s.ends, s.goes_on, s.fails:
        write.error, write.calls = error("no room"), 0
        with pytest.raises(error, match="no room") as caught:
            function(1)
        assert caught.value is write.error and write.calls == 1
        write.error = None
        assert s.ends(5) == 5 == s.fork(write=write).ends(5, raw=True).get()
        assert s.state["@cell"] == 1 and repr(s.ends(6, raw=True)) == "6"
    q = rly.program('print_text("a"); 1')
    write.error = error("no room")
    with pytest.raises(error, match="no room"):
        q.session(write=write).run()
    with pytest.raises(error, match="no room"):
        q.session()._run(write)
    assert capfd.readouterr().err == ""


def test_what_log_raises(capfd):
    log = Failing()
    p = rly.program("def @div(%x: int32) { 1 / %x }", log=log,
                    log_level="info")
    log.error = LookupError("no log")
    for call in (lambda: p.div(0), lambda: p.add("def @f("),
                 lambda: p.add("def @f() { 1 }")):
        with pytest.raises(LookupError, match="no log"):
            call()
    log.error = None
    assert p.f() == p.div(1) == 1
    assert capfd.readouterr().err == ""


def test_ctrl_c_while_it_writes():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    p = rly.program('def @main() { print_text("a"); print_text("b"); 1 }')
    said = []

    def write(text):
        said.append(text)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    s = p.session(write=write)
    other = rly.program("1 + 1;")
    for _ in range(10):
        with pytest.raises(KeyboardInterrupt):
            s.main()
        assert other.session().run() == [2]  # which is not stopped instead
    assert said == ["a"] * 10


def test_run():
    p = rly.program("1 + 1;\n(2f, True);")
    assert p.session().run() == [2, (2.0, True)]


# --- Operators --------------------------------------------------------------------

def test_operators():
    p = rly.Program()

    @p.operator("op @scaled[n: Dim](%x: Tensor[(n), float32], %by: float32) "
                "-> Tensor[(n), float32]",
                gradient="gradient @scaled(%x, %by) -> (%y, %g) "
                         "{ (%g * %by, sum(%g * %x)) }")
    def scaled(x, by):
        assert not x.flags.writeable
        if by == 13:
            raise LookupError("not thirteen")
        return x * by if by else x[1:]

    @p.operator("op @firsts[n: Dim](%x: Tensor[(n), int64], %k: int64) "
                "-> Tensor[(?), int64]", shape=lambda x, k: (k,))
    def firsts(x, k):
        return x[:k]

    p.add("def @f(%x: Tensor[(?), float32], %by: float32) { @scaled(%x, %by) }"
          "def @loss(%x: Tensor[(3), float32], %by: float32) {"
          "  sum(@scaled(%x, %by)) }"
          "def @head(%x: Tensor[(?), int64], %k: int64) { @firsts(%x, %k) }")
    x = np.array([1, 2, 4], F32)
    np.testing.assert_array_equal(p.f(x, 3), x * 3)
    assert p.f(np.zeros(0, F32), 3).shape == (0,)
    value, (dx, dby) = p.grad("loss")(x, 5)
    assert (value, dby) == (35, 7) and (dx == 5).all()
    np.testing.assert_array_equal(p.head(np.arange(9), 4), [0, 1, 2, 3])
    with pytest.raises(rly.RunError, match="not thirteen") as caught:
        p.f(x, 13)
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(rly.RunError, match=r"float32 of shape \(2,\), not"):
        p.f(x, 0)
    assert p.f(x, 1)[0] == 1  # and goes on
    with pytest.raises(rly.Refused):
        p.operator("op @wrong(")(lambda x: x)
    with pytest.raises(rly.RunError, match="negative|dimension|shape"):
        p.head(np.arange(9), -3)


def test_operators_keep_operands():
    p, kept = rly.Program(), []

    @p.operator("op @seen[n: Dim](%x: Tensor[(n), float32]) "
                "-> Tensor[(n), float32]")
    def seen(x):
        kept.append(x)
        return x

    @p.operator("op @stops(%x: float32) -> float32")
    def stops(x):
        raise KeyboardInterrupt

    p.add("def @f(%x: Tensor[(?), float32]) { @seen(%x + 1f) }"
          "def @g(%x: float32) { @stops(%x) }"
          "def @div(%x: int32, %y: int32) { %x / %y }")
    for n in range(3):
        p.f(np.full(1000, n, F32))
    assert [k[0] for k in kept] == [1, 2, 3]
    with pytest.raises(KeyboardInterrupt):
        p.g(1)
    with pytest.raises(rly.RunError) as caught:
        p.div(1, 0)
    assert caught.value.codes == ["E0602"]  # none of the run before


def test_operators_with_several_results():
    p = rly.Program()
    p.operator("op @divmod[s: Shape](%x: Tensor[s, int32], %k: int32) "
               "-> (Tensor[s, int32], Tensor[s, int32])")(np.divmod)

    @p.operator("op @parts[n: Dim, d: Float](%x: Tensor[(n), d]) "
                "-> (Tensor[(?), d], Tensor[(?, 1), d])",
                shape=lambda x: ((int((x < 0).sum()),),
                                 (int((x >= 0).sum()), 1)))
    def parts(x):
        return x[x < 0], x[x >= 0][:, None]

    @p.operator("op @one(%x: int32) -> (int32, int32)")
    def one(x):
        return x

    p.add("def @f(%x: Tensor[(2, 3), int32]) { @divmod(%x, 4) }"
          "def @g(%x: Tensor[(?), float64]) { @parts(%x) }"
          "def @h(%x: int32) { @one(%x) }")
    x = np.array([[-9, 5, 7], [8, -1, 0]], np.int32)
    for got, expected in zip(p.f(x), np.divmod(x, 4)):
        np.testing.assert_array_equal(got, expected)
    below, others = p.g(np.array([1.5, -2, 0, -4]))
    np.testing.assert_array_equal(below, [-2, -4])
    np.testing.assert_array_equal(others, [[1.5], [0]])
    with pytest.raises(rly.RunError, match="not a tuple of 2 arrays"):
        p.h(1)


# --- State --------------------------------------------------------------------------

COUNTER = """let @n = ref(0);
let @h = ref(zeros(shape=[2], dtype="float32"));
def @step(%x: int32) -> int32 { ref_write(@n, ref_read(@n) + %x);
  ref_write(@h, ref_read(@h) + 1f); ref_read(@n) }
"""


def test_state(tmp_path):
    p = rly.program(COUNTER)
    s = p.session()
    assert list(s.stream([1, 2, 3])) == [1, 3, 6]
    assert dict(s.state.paths()) == {
        "@n": "ref(int32)", "@h": "ref(Tensor[(2), float32])"}
    assert s.state["@n"] == 6 and (s.state["@h"] == 3).all()
    before, other = s.snapshot(), s.fork()
    s.state["@n"] = 100
    assert s.step(1) == 101 and other.step(1) == 7
    s.restore(before)
    assert s.step(1) == 7
    file = tmp_path / "state.safetensors"
    s.save(file)
    s.reset()
    assert s.state["@n"] == 0
    s.load(file)
    assert s.state["@n"] == 7
    # In another process it goes on.
    said = subprocess.run(
        [sys.executable, "-c", "import sys, rly\n"
         "s = rly.program(sys.argv[1]).session()\n"
         "s.load(sys.argv[2]); print(s.step(3))", COUNTER, str(file)],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(
            os.path.dirname(rly.__file__))})
    assert said.stdout == "10\n"
    for wrong in (lambda: s.state["@none"],
                  lambda: s.state.__setitem__("@none", 1)):
        with pytest.raises(KeyError):
            wrong()
    with pytest.raises(TypeError):
        s.state["@n"] = 1.5


def test_stream_with_a_state_of_its_own():
    p = rly.program("""
        def @init() { (0, 1f) }
        def @step(%x: int32, %s: (int32, float32)) {
          ((%x + %s.0, %s.1), (%x + %s.0, %s.1 * 2f)) }""")
    s = p.session()
    assert list(s.stream([1, 2, 3], init="init")) == [
        (1, 1.0), (3, 2.0), (6, 4.0)]


def test_grad():
    p = rly.program("def @loss(%x: Tensor[(3), float32]) { sum(%x * %x) }")
    value, (slope,) = p.grad("loss")(np.array([1, 2, 3], F32))
    assert value == 14
    np.testing.assert_array_equal(slope, [2, 4, 6])
    p = rly.Program()
    for body, slope in ("%x * %x", 6), ("%x * %x * %x", 27):
        p.add(f"def @loss(%x: float32) {{ {body} }}")
        assert p.grad("loss")(3)[1] == p.grad("loss")(3)[1] == (slope,)
    names = len(p.names)
    assert p.grad("loss")(1) == (1, (3,)) and len(p.names) == names
    with pytest.raises(rly.Refused, match="@nothing"):
        p.grad("nothing")


# --- Threads and processes ------------------------------------------------------------

PRODUCT = """let @x = ones(shape=[400, 400], dtype="float32");
def @product(%by: float32) { sum(nn.matmul(@x, @x)) * %by }
"""
shared = None


def product(by):
    return float(shared.product(by))


def test_multiprocessing():
    """Children have a parent with threads, and then with threads at work."""
    global shared
    shared = rly.program(PRODUCT, threads=2)
    assert product(1) == 400**3
    busy, end = shared.session(), threading.Event()

    def work():
        while not end.is_set():
            busy.product(1)
    thread = threading.Thread(target=work)
    for start in (lambda: None, thread.start):
        start()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            result = pool.map_async(product, [1, 2, 3, 4]).get(60)
        assert result == [400**3 * i for i in (1, 2, 3, 4)]
    end.set()
    thread.join()


def test_threads():
    """1,000 sessions on two threads, each a stream of its own."""
    p = rly.program(COUNTER)
    sums = []

    def run():
        for i in range(500):
            sums.append(list(p.session().stream([i, 1]))[-1] - i)
    threads = [threading.Thread(target=run) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sums == [1] * 1000


LOOP = "def @loop(%n: int32) -> int32 { if (%n < 0) { 0 } else { @loop(%n) } }"


def test_a_session_serves_one_thread():
    """Which is in the loop as soon as it has printed."""
    begun = threading.Event()
    p = rly.program(LOOP + ' def @main(%n: int32) { print_text("go"); '
                    "@loop(%n) }")
    s = p.session(write=lambda text: begun.set())
    thread = threading.Thread(target=lambda: pytest.raises(
        rly.Interrupted, s.main, 1))
    thread.start()
    assert begun.wait(600)
    for refused in (lambda: s.loop(-1), s.run):
        with pytest.raises(rly.Misuse, match="another thread"):
            refused()
    assert p.session().loop(-1) == 0
    while thread.is_alive():
        s.interrupt()
        thread.join(0.01)
    assert s.loop(-1) == 0


def test_what_calls_add_waits_for_other_threads():
    """A first function of a type, a first derivative: while two threads run one
    call after another, and one a long call."""
    p = rly.program(LOOP + """
        def @count(%n: int32) -> int32 { if (%n < 1) { 0 } else {
          @count(%n - 1) } }
        def @long() { print_text("go"); @loop(1) }
        def @loss(%x: float32) { %x * %x }
        def @apply(%f: fn (int32) -> int32) { %f(5) }""")
    begun, end, got = threading.Event(), threading.Event(), []
    long = p.session(write=lambda text: begun.set())

    def busy():
        s = p.session()
        while not end.is_set():
            s.count(20000)
    grad, apply = lambda: p.grad("loss")(3), lambda: p.session().apply(abs)
    firsts = [lambda work=work: got.append(work())
              for work in (grad, apply, apply)]
    runs = [busy, busy, lambda: pytest.raises(rly.Interrupted, long.long)]
    threads = [threading.Thread(target=work) for work in runs + firsts]
    for thread in threads:
        thread.start()
        assert thread is not threads[2] or begun.wait(60)
    time.sleep(0.1)
    assert not got
    while threads[2].is_alive():
        long.interrupt()
        threads[2].join(0.01)
    for thread in threads[3:]:
        thread.join(60)
    end.set()
    for thread in threads:
        thread.join(60)
    assert sorted(map(str, got)) == ["(9.0, (6.0,))", "5", "5"]
    assert sum(name.startswith("@python_") for name in p.names) == 3


def test_a_callback_adds_nothing_to_its_program():
    p = rly.Program()
    s = None

    @p.operator("op @nested(%x: int32) -> int32")
    def nested(x):
        return s.apply(lambda y: y * x)
    p.add("def @f(%x: int32) { @nested(%x) }"
          "def @apply(%f: fn (int32) -> int32) { %f(5) }")
    s = p.session()
    with pytest.raises(rly.RunError, match="once before the run"):
        p.f(3)
    assert s.apply(abs) == 5 and p.f(3) == 15


def test_a_busy_session_is_misuse():
    p = rly.program("""
        let @c = ref(1f);
        def @forever(%n: int32) -> int32 { @forever(%n) }
        def @pair(%x: float32) { (%x, [%x]) }
        def @adder(%k: float32) { fn (%x: float32) { %x + %k } }
        def @step(%x: float32, %s: float32) { (%x + %s, %s + 1f) }
        def @first() { 0f }
    """)
    s = p.session()
    snapshot, kept, add = s.snapshot(), s.pair(1, raw=True), s.adder(1)
    steps = s.stream([1, 2], step="step", init="first")
    begins = s.stream([(5,)], step="step", init="first")
    assert next(steps) == 1

    def run():
        with pytest.raises(rly.Interrupted):
            s.forever(1)
    thread = threading.Thread(target=run)
    thread.start()
    while s.turn.owner is None:  # taking the turn would refuse it to the thread
        time.sleep(0.001)
    ways = [lambda: s.pair(1), lambda: s.state["@c"], lambda: "@c" in s.state,
            lambda: s.state.update({"@c": 2}), lambda: list(s.state), s.fork,
            s.snapshot, lambda: s.restore(snapshot), s.reset, s.run,
            lambda: s.save("s.safetensors"), lambda: s.load("s.safetensors"),
            kept.get, lambda: kept.type, lambda: repr(kept), lambda: add(1),
            lambda: next(steps), lambda: next(begins)]
    try:
        for way in ways:
            with pytest.raises(rly.Misuse, match="at work"):
                way()
    finally:
        while thread.is_alive():
            s.interrupt()
            thread.join(0.01)
    assert list(steps) == [3] and list(begins) == [5]  # no frame is lost
    assert kept.get()[0] == 1
    with pytest.raises(KeyError, match="nothing"):
        s.state["@nothing"]


def test_ctrl_c():
    # Whoever runs this in the background may have it ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = threading.Event()
    p = rly.program(LOOP + ' def @main() { print_text("go"); @loop(1) }',
                    timeout=600)
    s = p.session(write=lambda text: begun.set())

    def press():
        begun.wait(600)
        time.sleep(0.2)  # by now the library runs, and no Python
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        s.main()
    thread.join()
    assert s.loop(-1) == 0


def test_doctest():
    import doctest
    assert doctest.testmod(rly).failed == 0 < doctest.testmod(rly).attempted


# --- Tools --------------------------------------------------------------------

def test_format():
    assert rly.format("def @f(%x:int32){%x+1}") == (
        "def @f(%x: int32) { %x + 1 }\n")
    assert rly.format(b"") == ""
    with pytest.raises(TypeError, match="a text is wanted, not 5"):
        rly.format(5)
    with pytest.raises(rly.Refused, match="m.rly:1:9: error") as refused:
        rly.format("let @x =", "m.rly")
    assert refused.value.diagnostics[0]["line"] == 1


def test_find():
    p = rly.program("")
    p.add("/// One more.\ndef @f(%x: float32) { %x + 1f }\nlet @y = @f(2f);",
          "m.rly")
    found = p.find("m.rly", 3, 10)
    assert found == ("global", "@f", "fn (float32) -> float32",
                     ("m.rly", 3, 10, 3, 12), ("m.rly", 2, 5, 2, 7))
    assert found.declared.line == 2
    assert p.find("m.rly", 2, 24).declared[1:] == (2, 8, 2, 10)
    assert p.find("m.rly", 2, 26).name == "add"
    assert p.find("m.rly", 1, 1) is None and p.find("n.rly", 1, 1) is None


def test_log(tmp_path):
    said = []
    p = rly.program("let @n = ref(1);\ndef @f(%x: int32) { 1 / %x }",
                    log=lambda *entry: said.append(entry), log_level="info")
    assert said[0][0] == "info" and said[0][1].startswith("added <text>: 45 b")
    said.clear()
    with pytest.raises(rly.RunError):
        p.f(0)
    assert said == [("error", "division by zero",
                     {"code": "E0602", "hint": None, "file": "<text>",
                      "line": 2, "column": 21})]
    said.clear()
    p.session().save(tmp_path / "n.safetensors")
    assert [level for level, *_ in said] == ["info"]
    with pytest.raises(KeyError):
        rly.Program(log=print, log_level="all")


def rly_program():
    path = os.environ.get("RLY_LIBRARY", "").replace("librly.so", "rly")
    if not os.path.exists(path):
        pytest.skip("no rly beside the library")
    return path


def test_operators():
    """What `rly ops --json` says, which the program makes by another way."""
    table = json.loads(subprocess.run([rly_program(), "ops", "--json"],
                                      capture_output=True, check=True).stdout)
    rows = rly.operators()
    assert len(rows) == len(table) > 200
    for row, known in zip(rows, table):
        assert list(row.aliases) == known["aliases"]
        assert row.type == known["rule"]["text"]
        assert row.signature.startswith(row.name + "(")
        for part in ("name", "doc", "formula", "example", "shows", "gradient",
                     "fails", "prints", "random"):
            assert getattr(row, part) == known[part], (row.name, part)
        for a, other in zip(row.attributes, known["attributes"], strict=True):
            for part in "name", "type", "required", "optional", "expression":
                assert getattr(a, part) == other[part], (row.name, a.name)
            default = list(a.default) if isinstance(a.default, tuple) else (
                a.default)
            floats = a.type == "floats" and default
            assert (default == pytest.approx(other.get("default")) if floats
                    else default == other.get("default")), (row.name, a.name)
            assert list(a.words or ()) == other["words"], (row.name, a.name)


def test_format_is_that_of_the_program():
    """Files of all kinds, as `rly fmt` writes them."""
    import glob
    tree = os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    files = sorted(glob.glob(f"{tree}/tests/run/*.rly"))[::4]
    assert len(files) > 5
    for file in files:
        theirs = subprocess.run([rly_program(), "fmt", file],
                                capture_output=True, check=False)
        with open(file, "rb") as text:
            if theirs.returncode:
                with pytest.raises(rly.Refused):
                    rly.format(text.read(), file)
            else:
                assert rly.format(text.read(), file) == theirs.stdout.decode()
