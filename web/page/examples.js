// Programs to begin with.
export const examples = {
  'A tensor': `// Values stand beside their lines; change something.
let %x = [[1f, 2f, 3f], [4f, 5f, 6f]];
nn.softmax(%x);
sum(%x, axis=[1]);

def @norm[n: Dim](%v: Tensor[(n), float32]) {
  sqrt(sum(%v * %v))
}
@norm([3f, 4f]);
`,
  'Recursion over a tree': `type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }

def @fold[A, B](%t: Tree[A], %leaf: fn(A) -> B, %node: fn(B, B) -> B) -> B {
  match (%t) {
    Leaf(%x) => %leaf(%x),
    Node(%l, %r) => %node(@fold(%l, %leaf, %node), @fold(%r, %leaf, %node)),
  }
}

let @tree = Node(Leaf([1, 2]), Node(Leaf([3, 4]), Leaf([5, 6])));
@fold(@tree, fn (%x) { sum(%x) }, add);
`,
  'A cell that remembers': `let @count = ref(0);
def @next() -> int32 {
  ref_write(@count, ref_read(@count) + 1);
  ref_read(@count)
}
@next();
@next();
(@next(), @next());
`,
  'A slider': `let %turns = 2f; // @slider(0, 6)
let %x = arange(100f) / 100f;
sin(%x * %turns * 6.2831855f);
`,
  'A gradient': `// The view Gradient shows it beside each argument.
def @loss(%w: Tensor[(2, 3), float32]) -> float32 {
  let %d = %w - [[1f, -2f, 0f], [0f, 1f, 3f]];
  sum(%d * %d)
}
grad(@loss)([[3f, 1f, 0f], [-1f, 0f, 3f]]);
`,
};
