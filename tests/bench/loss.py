#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loss.py MOUNT TEXT...: loss of a mount's model on texts, in nats a byte.

For small models of llama's form whose tokens are bytes, as scribe and clerk (byte b is token b +
3, a blank is the last token). A text is cut into windows of 256 bytes, without the rest at its
end, whose bytes are predicted from the token <s> and their earlier bytes. NumPy computes all of it
in float32 from the mount's .views/npy, without llama.cpp and without an assembled model."""
import functools
import sys

import numpy

WINDOW = 256


class Model:
    def __init__(self, mount):
        self.mount = mount
        self.blocks = int(self.key("block_count"))
        self.heads = int(self.key("attention.head_count"))
        self.kv_heads = int(self.key("attention.head_count_kv"))
        self.epsilon = float(self.key("attention.layer_norm_rms_epsilon"))
        self.embedding = self.tensor("embed/token_embd")
        self.width = self.embedding.shape[1] // self.heads
        pairs = numpy.arange(0, self.width, 2) / self.width
        angles = numpy.outer(numpy.arange(WINDOW), 10000.0 ** -pairs)
        self.turn = numpy.exp(1j * angles).astype(numpy.complex64)[None, None]

    def key(self, name):
        with open(f"{self.mount}/metadata/llama.{name}", encoding="utf-8") as file:
            return file.read()

    @functools.cache
    def tensor(self, name):
        return numpy.load(f"{self.mount}/.views/npy/{name}.npy").astype(numpy.float32)

    def norm(self, x, name):
        mean = numpy.mean(x * x, axis=-1, keepdims=True)
        return x / numpy.sqrt(mean + self.epsilon) * self.tensor(name)

    def split(self, x, heads):
        return x.reshape(x.shape[0], WINDOW, heads, self.width).transpose(0, 2, 1, 3)

    def rotate(self, x):
        pairs = numpy.ascontiguousarray(x).view(numpy.complex64) * self.turn
        return pairs.view(numpy.float32)

    def attention(self, x, block):
        q, k, v = (x @ self.tensor(f"skeleton/blk_{block}_attn_{part}").T for part in "qkv")
        q = self.rotate(self.split(q, self.heads))
        shared = self.heads // self.kv_heads
        k = numpy.repeat(self.rotate(self.split(k, self.kv_heads)), shared, axis=1)
        v = numpy.repeat(self.split(v, self.kv_heads), shared, axis=1)
        scores = q @ k.transpose(0, 1, 3, 2) / numpy.float32(numpy.sqrt(self.width))
        scores += numpy.triu(numpy.full((WINDOW, WINDOW), -numpy.inf, numpy.float32), 1)
        weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        heads = (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape[0], WINDOW, -1)
        return heads @ self.tensor(f"skeleton/blk_{block}_attn_output").T

    def feed_forward(self, x, block):
        gate, up, down = (self.tensor(f"organs/blk_{block}_ffn_{part}")
                          for part in ("gate", "up", "down"))
        gated = x @ gate.T
        return gated / (1 + numpy.exp(-gated)) * (x @ up.T) @ down.T

    def losses(self, windows):
        """Loss of each byte of each window, in nats."""
        tokens = numpy.where(windows == ord(" "), len(self.embedding) - 1,
                             windows.astype(int) + 3)
        x = self.embedding[numpy.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=1)]
        for block in range(self.blocks):
            x = x + self.attention(self.norm(x, f"norm/blk_{block}_attn_norm"), block)
            x = x + self.feed_forward(self.norm(x, f"norm/blk_{block}_ffn_norm"), block)
        logits = self.norm(x, "embed/output_norm") @ self.tensor("embed/output").T
        logits = logits.astype(numpy.float64)
        logits -= logits.max(axis=-1, keepdims=True)
        chosen = numpy.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]
        return numpy.log(numpy.exp(logits).sum(axis=-1)) - chosen


def main(mount, texts):
    model = Model(mount)
    for text in texts:
        data = numpy.fromfile(text, numpy.uint8)
        windows = data[:len(data) // WINDOW * WINDOW].reshape(-1, WINDOW)
        groups = [windows[i:i + 16] for i in range(0, len(windows), 16)]
        total = sum(float(model.losses(group).sum()) for group in groups)
        print(f"{text}\t{total / windows.size:.4f}")


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:])
