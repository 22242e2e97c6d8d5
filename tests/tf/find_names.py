"""Prints the names of `api_names.txt` that the facade lacks.  A program of its own: a process has Keras on one backend."""

from pathlib import Path

from tapegrad import tf

KERAS = ("tf.keras", "Keras", "Metric", "Optimizer", "tf.losses", "tf.metrics", "tf.optimizers", "tf.initializers")


def layer():
    made = tf.keras.layers.Dense(2)
    made.build((None, 3))
    return made


def functional():
    inputs = tf.keras.Input((3,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))


def compiled():
    model = functional()
    model.compile("sgd", "mse")
    return model


OWNERS = {
    "GradientTape": lambda: tf.GradientTape,
    "Tensor": lambda: tf.Variable,  # scripts call some methods of variables on what looks like a tensor
    "Variable": lambda: tf.Variable,
    "Dataset": lambda: tf.data.Dataset,
    "KerasModel": lambda: tf.keras.Sequential,
    "Optimizer": lambda: tf.keras.optimizers.Adam,
    "Metric": lambda: tf.keras.metrics.Mean,
    # what only some layers have, or an object that was made
    **dict.fromkeys(("KerasModel.bias", "KerasModel.kernel"), layer),
    **dict.fromkeys(("KerasModel.output", "KerasModel.input", "KerasModel.inputs", "KerasModel.output_shape"), functional),
    "KerasModel.optimizer": compiled,
}


def is_there(name: str) -> bool:
    first, *rest = name.split(".")
    x = tf if first == "tf" else OWNERS.get(name, OWNERS.get(first))()
    try:
        for part in rest:
            x = getattr(x, part)
    except AttributeError:
        return False
    return True


if __name__ == "__main__":
    import sys

    lines = (Path(__file__).parent / "api_names.txt").read_text("utf-8").splitlines()
    names = [line.split()[0] for line in lines if line.endswith(" yes")]
    with_keras = sys.argv[1:] == ["keras"]
    print(*(n for n in names if n.startswith(KERAS) == with_keras and not is_there(n)))
