"""Writes tests/train/torch.rly: 100 steps of SGD with momentum and of Adam, for
an LSTM, a GRU, a transformer and a Tree-LSTM, with the losses and the last
weights of PyTorch (1.13, in float32).

    python3 tests/reference/train_torch.py > tests/train/torch.rly
"""
import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)


def wave(shape, k, scale=0.4):
    """What @wave of the program draws: numbers without a pattern."""
    n = int(np.prod(shape))
    x = np.sin(np.arange(n, dtype=np.float64) * 1.7 + k) * scale
    return torch.tensor(x.reshape(shape).astype(np.float32))


# --- The models: how weights begin, and the loss ------------------------------

def recurrent(kind, gates):
    net, out = kind(3, 5), torch.nn.Linear(5, 2)
    names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    weights = [getattr(net, n) for n in names] + [out.weight, out.bias]
    x, y = wave((7, 4, 3), 0.5, 1.0), wave((7, 4, 2), 0.9, 0.8)

    def loss():
        return F.mse_loss(out(net(x)[0]), y)
    return weights, loss


def transformer():
    # No bias of q, k and v: that of k changes nothing, so its gradient is the
    # rounding of sums, which Adam would make steps of.
    shapes = [(7, 8), (6, 8), (8,), (8,), (24, 8), (8, 8), (8,), (8,), (8,),
              (16, 8), (16,), (8, 16), (8,), (7, 8)]
    weights = [torch.nn.Parameter(torch.empty(s)) for s in shapes]
    tokens = torch.tensor([0, 3, 1, 4, 6, 5])
    following = torch.tensor([3, 1, 4, 6, 5, 2])
    mask = torch.full((6, 6), float("-inf")).triu(1)

    def loss():
        (table, places, g1, b1, qkv, out, out_b, g2, b2, up, up_b, down, down_b,
         head) = weights
        x = table[tokens] + places
        q, k, v = (F.linear(F.layer_norm(x, (8,), g1, b1), qkv)
                   .reshape(6, 3, 2, 4).permute(1, 2, 0, 3))
        p = torch.softmax(q @ k.transpose(1, 2) * 0.5 + mask, -1)
        x = x + F.linear((p @ v).transpose(0, 1).reshape(6, 8), out, out_b)
        h = F.linear(F.layer_norm(x, (8,), g2, b2), up, up_b)
        x = x + F.linear(F.gelu(h), down, down_b)
        return F.cross_entropy(F.linear(x, head), following)
    return weights, loss


def tree():
    shapes = [(15, 3), (15, 5), (15,), (5, 3), (5, 5), (5,), (2, 5)]
    weights = [torch.nn.Parameter(torch.empty(s)) for s in shapes]
    inputs = wave((7, 3), 2.0, 1.0)
    shape = (0, [(1, [(2, []), (3, [])]), (4, [(5, [(6, [])])])])

    def node(at):
        w_iou, u_iou, b_iou, w_f, u_f, b_f, _ = weights
        x, below = inputs[at[0]], [node(child) for child in at[1]]
        h_sum = sum((h for h, _ in below), torch.zeros(5))
        i, o, u = (F.linear(x, w_iou, b_iou) + F.linear(h_sum, u_iou)).split(5)
        c = torch.sigmoid(i) * torch.tanh(u)
        for h, c_k in below:
            f = torch.sigmoid(F.linear(x, w_f, b_f) + F.linear(h, u_f))
            c = c + f * c_k
        return torch.sigmoid(o) * torch.tanh(c), c

    def loss():
        logits = F.linear(node(shape)[0], weights[6])
        return F.cross_entropy(logits[None], torch.tensor([1]))
    return weights, loss


models = {"lstm": recurrent(torch.nn.LSTM, 4), "gru": recurrent(torch.nn.GRU, 3),
          "transformer": transformer(), "tree": tree()}
optimisers = {"sgd": lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9),
              "adam": lambda w: torch.optim.Adam(w, lr=0.01)}


def train(model, optimiser):
    weights, loss = models[model]
    with torch.no_grad():
        for k, w in enumerate(weights):
            w.copy_(wave(tuple(w.shape), k))
    o, losses = optimisers[optimiser](weights), []
    for _ in range(100):
        o.zero_grad()
        value = loss()
        value.backward()
        o.step()
        losses.append(value.item())
    return losses, torch.cat([w.detach().flatten() for w in weights])


# --- The program ----------------------------------------------------------------

def numbers(values):
    return "[" + ", ".join(f"{v:.7g}" if "." in f"{v:.7g}" or
                           "e" in f"{v:.7g}" else f"{v:.7g}.0"
                           for v in map(float, values)) + "]"


types = {"lstm": "Layer[20]", "gru": "Layer[15]", "transformer": "Block",
         "tree": "Nodes"}
states = {"sgd": ("Sgd", "rate=0.05f, momentum=0.9f64"),
          "adam": ("Adam", "rate=0.01f")}
print("""#[version = "0.0.5"]
// Written by tests/reference/train_torch.py, which does the same with PyTorch
// 1.13: 100 steps, their losses, and the weights behind them as one vector.
import "models.rly";""")
for model, name in types.items():
    for optimiser, (state, given) in states.items():
        losses, last = train(model, optimiser)
        print(f"""
let @losses_{model}_{optimiser}: Ref[Tensor[(?), float32]] =
  ref(zeros(shape=[0], dtype="float32"));
let @weights_{model}_{optimiser}: Ref[Tensor[(?), float32]] =
  ref(zeros(shape=[0], dtype="float32"));
def @{model}_{optimiser}(%n: int32, %s: {state}[{name}], %p: {name}) -> {name} {{
  if (%n == 0) {{ %p }} else {{
    let %r = grad(@loss_{model})(%p);
    ref_write(@losses_{model}_{optimiser},
              concatenate((ref_read(@losses_{model}_{optimiser}), [%r.0])));
    let %u = @{optimiser}_step(%s, %p, %r.1.0, {given});
    @{model}_{optimiser}(%n - 1, %u.0, %u.1)
  }}
}}
let %{model}_{optimiser} = map_leaves(fn (%w) {{
  ref_write(@weights_{model}_{optimiser},
            concatenate((ref_read(@weights_{model}_{optimiser}),
                         reshape(%w, newshape=[-1]))));
  %w
}}, @{model}_{optimiser}(100, @{optimiser}(@first_{model}()), @first_{model}()));
ref_read(@losses_{model}_{optimiser});
// expect ~1e-4: Tensor[(100), float32] {numbers(losses)}
max(abs(ref_read(@weights_{model}_{optimiser}) -
        {numbers(last)}));
// expect ~1e-4: 0f""")
