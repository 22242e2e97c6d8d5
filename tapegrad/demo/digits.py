"""The demo's data, network and training loop: below this line, word for word what README.md shows."""

from collections.abc import Iterator
from math import ceil

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tapegrad as tg


def load(seed: int) -> list[np.ndarray]:
    """Training images, test images, training labels, test labels: 8x8 pixels from 0 to 1, a quarter for the test."""
    digits = load_digits()
    images = np.asarray(digits.images / 16, np.float32)
    parts: list[np.ndarray] = train_test_split(
        images, digits.target, test_size=0.25, stratify=digits.target, random_state=seed
    )
    return parts


def network(seed: int, hidden: int = 256) -> list[tg.Variable]:
    """Weights and biases: 64 pixels -> a hidden layer -> 10 classes."""
    rng = tg.random.Generator(seed)
    return [
        tg.Variable(rng.normal((64, hidden), std=(2 / 64) ** 0.5)),
        tg.Variable(tg.zeros(hidden)),
        tg.Variable(rng.normal((hidden, 10), std=(1 / hidden) ** 0.5)),
        tg.Variable(tg.zeros(10)),
    ]


def logits(params: list[tg.Variable], images: np.ndarray) -> tg.Tensor:
    """The score of each class for each image: (n,8,8) -> (n,10)."""
    w1, b1, w2, b2 = params
    x = tg.asarray(images.reshape(-1, 64))
    return tg.nn.relu(x @ w1 + b1) @ w2 + b2


def shifted(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The images, each moved by one pixel up or down, and left or right, one time in five."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (8, 8), axis=(1, 2))
    down, right = rng.choice(3, size=(2, len(images)), p=(0.1, 0.8, 0.1))
    moved: np.ndarray = windows[np.arange(len(images)), down, right]
    return moved


def train(
    params: list[tg.Variable], images: np.ndarray, labels: np.ndarray, *, epochs: int, batch: int, lr: float, seed: int
) -> Iterator[float]:
    """Train by gradient descent with momentum, the rate falling from lr to zero; gives the loss of each step."""
    rng = np.random.default_rng(seed)
    velocities = [tg.Variable(tg.zeros(param.shape), trainable=False) for param in params]
    for epoch in range(epochs):
        rate = lr * (1 - epoch / epochs)
        for rows in np.array_split(rng.permutation(len(images)), ceil(len(images) / batch)):
            x, y = shifted(images[rows], rng), labels[rows]
            with tg.GradientTape() as tape:
                loss = tg.nn.cross_entropy(logits(params, x), y)
            gradients = tape.gradient(loss, params)
            for param, velocity, gradient in zip(params, velocities, gradients, strict=True):
                velocity.assign(0.9 * velocity + gradient)
                param.assign_sub(rate * velocity)
            yield float(loss)
