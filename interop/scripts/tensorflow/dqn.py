"""Deep Q-learning with a replay buffer and a target model, on a grid of five by five; Huber loss, one-hot masks."""

import random
from collections import deque

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

seed = 42
gamma = 0.95
epsilon, epsilon_min, epsilon_max = 1.0, 0.1, 1.0
batch_size = 16
num_actions = 4
rng = np.random.default_rng(seed)
random.seed(seed)


class Grid:
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def reset(self):
        self.at, self.steps = [0, 0], 0
        return self.observe()

    def observe(self):
        picture = np.zeros((5, 5, 1), np.float32)
        picture[self.at[0], self.at[1]] = 1
        return picture

    def step(self, action):
        for i in range(2):
            self.at[i] = min(4, max(0, self.at[i] + self.moves[action][i]))
        self.steps += 1
        done = self.at == [4, 4]
        return self.observe(), 1.0 if done else -0.05, done or self.steps == 30


def create_q_model():
    return keras.Sequential(
        [
            keras.Input(shape=(5, 5, 1)),
            layers.Conv2D(4, 3, strides=1, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(16, activation="relu"),
            layers.Dense(num_actions, activation="linear"),
        ]
    )


model = create_q_model()
model.set_weights([rng.normal(scale=0.2, size=w.shape).astype("float32") for w in model.get_weights()])
model_target = create_q_model()
model_target.set_weights(model.get_weights())
optimizer = keras.optimizers.Adam(learning_rate=0.002, clipnorm=1.0)
loss_function = keras.losses.Huber()
replay = deque(maxlen=500)
env = Grid()
frame_count = 0

for episode in range(6):
    state = env.reset()
    episode_reward = 0
    loss = None
    for timestep in range(30):
        frame_count += 1
        if epsilon > rng.random():
            action = rng.choice(num_actions)
        else:
            state_tensor = tf.convert_to_tensor(state)
            state_tensor = tf.expand_dims(state_tensor, 0)
            action_probs = model(state_tensor, training=False)
            action = tf.argmax(action_probs[0]).numpy()
        epsilon -= (epsilon_max - epsilon_min) / 100
        epsilon = max(epsilon, epsilon_min)
        state_next, reward, done = env.step(action)
        episode_reward += reward
        replay.append((state, action, state_next, reward, done))
        state = state_next
        if frame_count % 4 == 0 and len(replay) > batch_size:
            sample = random.sample(replay, batch_size)
            state_sample, action_sample, next_sample, rewards_sample, done_sample = map(np.array, zip(*sample))
            future_rewards = model_target(next_sample)
            updated_q_values = rewards_sample.astype("float32") + gamma * tf.reduce_max(future_rewards, axis=1)
            updated_q_values = updated_q_values * (1 - tf.cast(done_sample, tf.float32)) - tf.cast(done_sample, tf.float32)
            masks = tf.one_hot(action_sample, num_actions)
            with tf.GradientTape() as tape:
                q_values = model(state_sample)
                q_action = tf.reduce_sum(tf.multiply(q_values, masks), axis=1)
                loss = loss_function(updated_q_values, q_action)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
        if frame_count % 40 == 0:
            model_target.set_weights(model.get_weights())
        if done:
            break
    template = "running reward: {:.2f} at episode {}, frame count {}, loss {:.4f}"
    print(template.format(episode_reward, episode, frame_count, 0.0 if loss is None else float(loss)))
print("grads", [round(float(tf.linalg.global_norm([g])), 4) for g in grads])
