"""Names of TensorFlow 1, which this facade lacks, and what eager code writes in their place."""

from __future__ import annotations

#: What makes or runs graphs.
_GRAPHS = (
    *("placeholder", "placeholder_with_default", "Session", "InteractiveSession", "get_default_session"),
    *("ConfigProto", "GPUOptions", "get_default_graph", "reset_default_graph", "global_variables_initializer"),
    *("local_variables_initializer", "initialize_all_variables", "variables_initializer", "get_collection"),
    *("add_to_collection", "OptimizerOptions", "report_uninitialized_variables"),
)

#: The names of TensorFlow 2, below `tf`.
_RENAMED = {
    "layers": "keras.layers",
    "get_variable": "Variable",
    "variable_scope": "name_scope",
    "set_random_seed": "random.set_seed",
    "random_normal": "random.normal",
    "random_uniform": "random.uniform",
    "truncated_normal": "random.truncated_normal",
    "random_shuffle": "random.shuffle",
    "multinomial": "random.categorical",
    "log": "math.log",
    "log1p": "math.log1p",
    "is_nan": "math.is_nan",
    "is_inf": "math.is_inf",
    "is_finite": "math.is_finite",
    "div": "divide",
    "mul": "multiply",
    "diag": "linalg.diag",
    "matrix_inverse": "linalg.inv",
    "svd": "linalg.svd",
    "to_float": "cast(x, tf.float32)",
    "to_double": "cast(x, tf.float64)",
    "to_int32": "cast(x, tf.int32)",
    "to_int64": "cast(x, tf.int64)",
    "sparse_to_dense": "scatter_nd",
    "gfile": "io.gfile",
    "Print": "print",
    "py_func": "py_function",
    "logging": "get_logger",
    "merge_all_summaries": "summary.create_file_writer",
    "train.AdamOptimizer": "keras.optimizers.Adam",
    "train.GradientDescentOptimizer": "keras.optimizers.SGD",
    "train.MomentumOptimizer": "keras.optimizers.SGD(rate, momentum)",
    "train.RMSPropOptimizer": "keras.optimizers.RMSprop",
    "train.AdagradOptimizer": "keras.optimizers.Adagrad",
    "train.Saver": "train.Checkpoint",
    "summary.FileWriter": "summary.create_file_writer",
    "summary.merge_all": "summary.create_file_writer",
    "nn.softmax_cross_entropy_with_logits_v2": "nn.softmax_cross_entropy_with_logits",
    "nn.dynamic_rnn": "keras.layers.RNN",
    "nn.rnn_cell": "keras.layers.LSTMCell",
    "losses.mean_squared_error": "keras.losses.MeanSquaredError",
    "gradients": "GradientTape",
}

#: What is elsewhere, or written in another way.
_INSTEAD = {
    **dict.fromkeys(_GRAPHS, "there are no graphs and sessions; give values to functions, which compute at once"),
    "contrib": "it was taken out of TensorFlow 2: Keras has layers, and other packages the rest",
    "trainable_variables": "a tf.Module or a model lists its own: module.trainable_variables",
    "global_variables": "a tf.Module or a model lists its own: module.variables",
    "assign": "variable.assign(value) is a method",
    "assign_add": "variable.assign_add(value) is a method",
    "assign_sub": "variable.assign_sub(value) is a method",
    "app": "the package absl has it: absl.app",
    "flags": "the package absl has it: absl.flags",
}


def hint(name: str) -> str | None:
    """What is said of a name (without `tf.`), if it is one of TensorFlow 1."""
    if renamed := _RENAMED.get(name):
        return f"a name of TensorFlow 1, now tf.{renamed}"
    instead = _INSTEAD.get(name)
    return instead and f"a name of TensorFlow 1: {instead}"
