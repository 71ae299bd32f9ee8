#!/usr/bin/env python3
"""A decoder in JAX, compiled by XLA: prefill and decode steps with a cache, and greedy sampling.

With --hlo FILE the compiled programs are written as text: what each fusion holds.
"""

import argparse
import functools

import jax
import jax.numpy as jnp

LAYERS, BATCH, PROMPT, STEPS = 4, 4, 256, 12
HEADS, DIM, FFN, VOCAB = 16, 128, 5632, 32000
WIDTH = HEADS * DIM
CAPACITY = PROMPT + STEPS


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hlo", metavar="FILE", help="the compiled programs as text")
    parser.add_argument("--repeat", type=int, default=3, help="prompts to answer")
    parser.add_argument("--attention", choices=("plain", "cudnn"), default="plain")
    return parser.parse_args()


def init(key):
    shapes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH),
              "gate": (WIDTH, FFN), "up": (WIDTH, FFN), "down": (FFN, WIDTH)}
    layers = []
    for number in range(LAYERS):
        keys = jax.random.split(jax.random.fold_in(key, number), len(shapes))
        layer = {name: jax.random.normal(part, shape, jnp.bfloat16) * 0.02
                 for part, (name, shape) in zip(keys, shapes.items())}
        layer["norms"] = jnp.ones((2, WIDTH), jnp.bfloat16)
        layers.append(layer)
    return {"embedding": jax.random.normal(key, (VOCAB, WIDTH), jnp.bfloat16), "layers": layers}


def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype) * weight


def rotate(x, positions):
    half = DIM // 2
    angles = positions[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    first, second = jnp.split(x, 2, -1)
    out = jnp.concatenate((first * cos - second * sin, first * sin + second * cos), -1)
    return out.astype(x.dtype)


def attend(layer, x, cache, positions, how):
    shape = (*x.shape[:2], HEADS, DIM)
    query, key, value = ((x @ layer[name]).reshape(shape) for name in ("q", "k", "v"))
    query, key = rotate(query, positions), rotate(key, positions)
    start = (0, positions[0], 0, 0)
    keys = jax.lax.dynamic_update_slice(cache[0], key, start)
    values = jax.lax.dynamic_update_slice(cache[1], value, start)
    mask = jnp.arange(CAPACITY)[None, :] <= positions[:, None]
    if how == "cudnn":
        out = jax.nn.dot_product_attention(query, keys, values, mask=mask[None, None],
                                           implementation="cudnn")
    else:
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys).astype(jnp.float32) * DIM**-0.5
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1).astype(x.dtype)
        out = jnp.einsum("bhqk,bkhd->bqhd", weights, values)
    return out.reshape(x.shape) @ layer["o"], (keys, values)


@functools.partial(jax.jit, static_argnames="how")
def step(weights, tokens, caches, first, how):
    """tokens [batch, n] at first, first + 1, … -> the next tokens [batch], caches."""
    positions = first + jnp.arange(tokens.shape[1])
    x = weights["embedding"][tokens]
    new = []
    for layer, cache in zip(weights["layers"], caches):
        out, cache = attend(layer, rms_norm(x, layer["norms"][0]), cache, positions, how)
        x = x + out
        normed = rms_norm(x, layer["norms"][1])
        x = x + (jax.nn.silu(normed @ layer["gate"]) * (normed @ layer["up"])) @ layer["down"]
        new.append(cache)
    logits = x[:, -1] @ weights["embedding"].T
    return jnp.argmax(logits, -1), new


def main():
    args = parse_args()
    weights = jax.jit(init)(jax.random.key(1))
    cache = jnp.zeros((BATCH, CAPACITY, HEADS, DIM), jnp.bfloat16)
    caches = [(cache, cache)] * LAYERS
    prompt = jnp.arange(BATCH * PROMPT).reshape(BATCH, PROMPT) % VOCAB
    if args.hlo:
        with open(args.hlo, "w", encoding="utf-8") as file:
            for tokens in (prompt, prompt[:, :1]):
                file.write(step.lower(weights, tokens, caches, 0, args.attention)
                           .compile().as_text() + "\n")
    for _ in range(args.repeat):
        tokens, filled = step(weights, prompt, caches, 0, args.attention)
        for number in range(STEPS):
            tokens, filled = step(weights, tokens[:, None], filled, PROMPT + number,
                                  args.attention)
    print("shape", *jax.block_until_ready(tokens).shape)


if __name__ == "__main__":
    main()
