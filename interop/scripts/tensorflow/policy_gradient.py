"""REINFORCE on a corridor, actions drawn with NumPy from the policy's probabilities."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(543)
w1 = tf.Variable(rng.normal(scale=0.5, size=(5, 16)).astype(np.float32))
b1 = tf.Variable(tf.zeros(16))
w2 = tf.Variable(rng.normal(scale=0.25, size=(16, 2)).astype(np.float32))
params = [w1, b1, w2]


def policy(states):
    return tf.nn.tanh(states @ w1 + b1) @ w2


for episode in range(25):
    place, states, actions, rewards = 2, [], [], []
    for _ in range(12):
        state = np.eye(5, dtype=np.float32)[place]
        p = tf.nn.softmax(policy(state[None]))[0].numpy().astype(np.float64)
        action = int(rng.random() < p[1] / p.sum())
        states.append(state)
        actions.append(action)
        place = min(4, max(0, place + 2 * action - 1))
        rewards.append(1.0 if place == 4 else -0.1)
        if place == 4:
            break
    returns = np.zeros(len(rewards), np.float32)
    running = 0.0
    for i in reversed(range(len(rewards))):
        running = returns[i] = rewards[i] + 0.95 * running
    with tf.GradientTape() as tape:
        logits = policy(tf.stack(states))
        taken = tf.reduce_sum(tf.nn.log_softmax(logits) * tf.one_hot(actions, depth=2), axis=1)
        entropy = -tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), axis=-1)
        loss = -tf.reduce_mean(taken * returns) - 0.01 * tf.reduce_mean(entropy)
    grads = tape.gradient(loss, params)
    for p, g in zip(params, grads):
        p.assign_sub(0.1 * g)
    if episode % 5 == 0:
        print("episode %d: %d steps, reward %.2f, loss %.4f" % (episode, len(rewards), sum(rewards), loss))
print("grad %.5f" % tf.linalg.global_norm(grads).numpy())
