"""Makes audio with a sound to spot in it (500 Hz, then 1000 Hz, for a tenth of
a second each), and writes what PyTorch, in float64, scores with the weights of
spotting.safetensors.

    python3 examples/spotting/make.py
"""
import os
import sys

import numpy
import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from networks import recurrent, weights  # noqa: E402

RATE, FRAME, TONE = 8000, 64, 12  # a tone lasts 12 frames
random = numpy.random.RandomState(9)
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)

net = weights(os.path.join(FOLDER, "spotting.safetensors"))
gru = recurrent(torch.nn.GRU(16, 16), net)
conv, out = torch.nn.Conv1d(12, 16, 3), torch.nn.Linear(16, 1)
conv.load_state_dict({"weight": net["w_conv"], "bias": net["b_conv"][:, 0]})
out.load_state_dict({"weight": net["w_out"], "bias": net["b_out"]})


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


def scored(audio):
    f = numpy.concatenate([SILENCE, features(audio)], 1)
    x = conv(torch.tensor(f[None])).relu().permute(2, 0, 1)
    return out(gru(x)[0])[:, 0, 0].sigmoid().numpy()


audio, labels = scene(240)
scores = scored(audio)
over = numpy.flatnonzero(numpy.diff(labels, prepend=0) > 0)
print("over from frames", over.tolist())
on = numpy.concatenate([[False], scores > 0.5])
print("spotted in frames", numpy.flatnonzero(on[1:] & ~on[:-1]).tolist())

numpy.save(os.path.join(FOLDER, "audio.npy"), audio)
numpy.save(os.path.join(FOLDER, "expected.npy"), scores.astype("float32"))
