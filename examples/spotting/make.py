"""Makes audio with a sound to spot in it (500 Hz, then 1000 Hz, for a tenth of
a second each), trains the net of spotting.rly with PyTorch, and prints when
PyTorch, in float64, spots it.

    python3 examples/spotting/make.py
"""
import os
import sys

import numpy
import torch
from torch.nn import functional

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402

RATE, FRAME, TONE = 8000, 64, 12  # a tone lasts 12 frames
random = numpy.random.RandomState(2)
torch.manual_seed(2)
torch.set_default_dtype(torch.float64)

conv = torch.nn.Conv1d(12, 16, 3)
gru = torch.nn.GRU(16, 16)
out = torch.nn.Linear(16, 1)
parameters = [*conv.parameters(), *gru.parameters(), *out.parameters()]


def tone(hertz):
    t = numpy.arange(TONE * FRAME) / RATE
    loud = 0.3 + 0.4 * random.rand()
    return loud * numpy.sin(2 * numpy.pi * (hertz * t + random.rand()))


def scene(frames):
    """Noise with some tones, and for each frame whether the sound is over."""
    audio = random.randn(frames * FRAME) * 0.03
    labels = numpy.zeros(frames)
    at = random.randint(2, 8)
    while at + 2 * TONE + 4 < frames:
        kind = random.randint(5)
        first, second = [(500, 1000), (500, 1000), (1000, 500),
                         (500, 0), (0, 1000)][kind]
        for i, hertz in enumerate((first, second)):
            if hertz:
                where = (at + i * TONE) * FRAME
                audio[where:where + TONE * FRAME] += tone(hertz)
        if kind < 2:
            labels[at + 2 * TONE - 4:at + 2 * TONE] = 1
        at += 2 * TONE + random.randint(3, 12)
    return audio.astype("float32"), labels


def features(audio):
    frames = audio.astype("float64").reshape(-1, FRAME)
    window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(64) / 64)
    waves = numpy.fft.rfft(frames * window)[:, 1:13]
    return numpy.log(0.01 + numpy.abs(waves) ** 2).T


SILENCE = numpy.full((12, 2), numpy.log(0.01))


def logits(batch):
    f = numpy.stack([numpy.concatenate([SILENCE, features(a)], 1)
                     for a in batch])
    x = conv(torch.tensor(f)).relu().permute(2, 0, 1)
    return out(gru(x)[0])[:, :, 0].T


adam = torch.optim.Adam(parameters, lr=0.01)
for step in range(250):
    scenes = [scene(100) for _ in range(12)]
    labels = torch.tensor(numpy.stack([s[1] for s in scenes]))
    loss = functional.binary_cross_entropy_with_logits(
        logits([s[0] for s in scenes]), labels)
    adam.zero_grad()
    loss.backward()
    adam.step()
print("loss", loss.item())

with torch.no_grad():
    for p in parameters:
        p.copy_(p.float().double())
    random.seed(9)
    audio, labels = scene(240)
    scores = logits([audio]).sigmoid()[0].numpy()
    over = numpy.flatnonzero(numpy.diff(labels, prepend=0) > 0)
    print("over from frames", over.tolist())
    on = numpy.concatenate([[False], scores > 0.5])
    print("spotted in frames", numpy.flatnonzero(on[1:] & ~on[:-1]).tolist())

tensors = {"w_conv": conv.weight, "b_conv": conv.bias[:, None],
           "w_ih": gru.weight_ih_l0, "w_hh": gru.weight_hh_l0,
           "b_ih": gru.bias_ih_l0, "b_hh": gru.bias_hh_l0,
           "w_out": out.weight, "b_out": out.bias}
save(os.path.join(FOLDER, "spotting.safetensors"),
     {k: t.detach().numpy().astype("float32") for k, t in tensors.items()})
numpy.save(os.path.join(FOLDER, "audio.npy"), audio)
numpy.save(os.path.join(FOLDER, "expected.npy"), scores.astype("float32"))
