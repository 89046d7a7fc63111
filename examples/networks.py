"""The examples' networks in PyTorch, in float64: what is expected of them."""
import torch

from tensors import load


def weights(path):
    """The tensors of a file of weights by name."""
    return {name: torch.tensor(t, dtype=torch.float64)
            for name, t in load(path).items()}


def recurrent(layer, net, prefix=""):
    """A torch.nn.GRU or LSTM of one layer with the weights of that prefix."""
    layer.double().load_state_dict(
        {f"{kind}_{gate}_l0": net[f"{prefix}{kind[0]}_{gate}"]
         for kind in ("weight", "bias") for gate in ("ih", "hh")})
    return layer
