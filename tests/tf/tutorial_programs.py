"""Small programs around what tutorials do: functions of Python in datasets, concrete functions, classes of one's own."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: list[Callable[[Any], Iterator[Any]]] = []


def program(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    PROGRAMS.append(f)
    return f


@program
def python_functions_by_decorators(tf: Any) -> Iterator[Any]:
    @tf.py_function(Tout=tf.float32)
    def product(a, b):
        return a * b

    @tf.numpy_function(Tout=tf.float64)
    def root(a):
        return np.sqrt(a)

    x = tf.constant(3.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = product(x, x + 1.0)
    yield y
    yield t.gradient(y, x)
    yield root(tf.constant([4.0, 9.0], tf.float64))
    yield [tuple(r.shape) for r in tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda v: product(v, v))]


@program
def a_list_that_a_mapped_function_gives_is_a_tuple(tf: Any) -> Iterator[Any]:
    rows = tf.data.Dataset.range(3)
    mixed = rows.map(lambda i: tf.py_function(lambda v: (v + 1, float(v) / 2), [i], [tf.int64, tf.float32]))
    yield [(a, b) for a, b in mixed]
    alike = rows.map(lambda i: [i, i * i])
    yield alike.element_spec
    yield [len(e) for e in alike]
    yield rows.map(lambda i: ([i, i], i)).element_spec  # a list inside is a tensor
    yield [a + b for a, b in alike.map(lambda a, b: (b, a))]


@program
def concrete_functions(tf: Any) -> Iterator[Any]:
    power = tf.function(lambda base, by: base**by)
    square = power.get_concrete_function(base=tf.TensorSpec(None, tf.float32), by=2)
    yield square(tf.constant(7.0))
    yield square(tf.constant(7.0), by=2)
    yield lambda: square(tf.constant(7.0), by=3)
    yield lambda: square(tf.constant(7.0), 3)
    yield lambda: square(tf.constant(7))
    yield lambda: square(*[])
    scaled = tf.function(lambda x, by=3.0: x * by).get_concrete_function(tf.TensorSpec([None], tf.float32))
    yield scaled(tf.constant([1.0, 2.0]))

    class Line:
        slope = tf.Variable(2.5)

    bound = tf.function(lambda line, x: line.slope * x).get_concrete_function(Line(), tf.constant(3.0))
    yield bound(tf.constant(4.0))
    yield bound(x=tf.constant(5.0))
    yield lambda: bound(*[])

    class Scale(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x):
            return x * 2.0

    yield Scale().__call__.get_concrete_function()(tf.constant([1.5, 2.5]))


@program
def classes_that_become_tensors(tf: Any) -> Iterator[Any]:
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    class Nothing(Celsius):
        pass

    tf.register_tensor_conversion_function(Celsius, lambda v, dtype=None, name=None, as_ref=False: tf.constant(v.degrees, dtype))
    tf.register_tensor_conversion_function(
        Nothing, lambda v, dtype=None, name=None, as_ref=False: tf.constant(0.0) if v.degrees else NotImplemented, 50
    )
    yield tf.convert_to_tensor(Celsius(21.5))
    yield tf.convert_to_tensor(Celsius(21.5), tf.float64)
    yield tf.constant(1.0) + Celsius(2.5)
    yield tf.stack([Celsius(1.5), 3.0])
    yield tf.convert_to_tensor(Nothing(4.0))  # the lower priority goes first
    yield tf.convert_to_tensor(Nothing(0.0))
    yield tf.is_tensor(Celsius(1.0))
    yield lambda: tf.register_tensor_conversion_function("Celsius", Celsius)
    yield lambda: tf.register_tensor_conversion_function(Celsius, "function")
    yield isinstance(1.5, tf.types.experimental.TensorLike)
    yield isinstance({}, tf.types.experimental.TensorLike)


@program
def tables_in_files(tf: Any) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as directory:
        name = str(pathlib.Path(directory, "people.csv"))
        lines = '31,"Li, Bo",7000000000,1.5,,0\n,"say ""a""",3,1e300,,1\n7,x,4,2,,1\n'
        pathlib.Path(name).write_text("age,name,money,score,left,label\n" + lines)
        csv = tf.data.experimental
        defaults = [[0], [""], tf.int64, [0.0], [""], tf.int32]
        rows = csv.CsvDataset(name, [*defaults[:3], tf.float64, *defaults[4:]], header=True)
        yield rows.element_spec
        yield [[x.numpy() for x in row] for row in rows]
        yield [row[0].numpy() for row in csv.CsvDataset([name, name], [tf.int32], header=True, select_cols=[5])]
        yield [row[0].numpy() for row in csv.CsvDataset(name, [tf.int32], header=True, exclude_cols=range(5))]
        for columns, default in ((0, tf.int32), (1, tf.int32), (9, tf.int32)):
            yield lambda c=columns, d=default: list(csv.CsvDataset(name, [d], header=True, select_cols=[c]))
        yield lambda: list(csv.CsvDataset(name + "s", [tf.int32]))

        def batches(**words):
            for features, label in csv.make_csv_dataset(name, 2, label_name="label", **words):
                yield [(k, v.numpy().tolist()) for k, v in features.items()], label.numpy().tolist()

        yield [*batches(num_epochs=1, shuffle=False)]  # types are inferred: 1e300 is a float64
        tf.random.set_seed(4)
        yield [*batches(num_epochs=3, shuffle_seed=2, select_columns=["name", "label"])]
        whole = csv.make_csv_dataset(name, 2, num_epochs=1, shuffle=False, na_value="x", select_columns=[5, 1, 0])
        yield whole.element_spec
        yield [list(batch) for batch in whole]
        yield len(list(csv.make_csv_dataset(name, 2, shuffle=False).take(4)))  # without end
        for words in ({"label_name": "sex"}, {"select_columns": ["sex"]}, {"header": False}):
            yield lambda w=words: csv.make_csv_dataset(name, 2, **w)
        yield lambda: csv.make_csv_dataset(name + "s", 2)


@program
def arrays_numbers_and_lists_without_a_tensor(tf: Any) -> Iterator[Any]:
    wide, narrow, whole = np.array([[1.5, -2.0]]), np.array([0.5, 3.0], np.float32), np.array([4, 7])
    values = (wide, narrow, whole, 2, 2.5, [1.0, 3.0], [1, 3], np.float32(0.5), np.int64(3))
    functions = ("add", "multiply", "subtract", "maximum", "greater", "math.floordiv", "math.squared_difference", "divide", "pow")
    for name in functions:
        f = tf
        for part in name.split("."):
            f = getattr(f, part)
        for a in values:
            for b in values:
                yield lambda f=f, a=a, b=b: f(a, b)


@program
def text_that_a_function_gives(tf: Any) -> Iterator[Any]:
    yield tf.function(lambda: "morning")()
    yield tf.function(lambda x: (x, b"evening", None))(tf.constant(1.5))
    yield tf.function(lambda: np.array([1.5, 2.5]))()


@program
def messages_as_text_and_bytes(tf: Any) -> Iterator[Any]:
    t = tf.train
    texts = t.Feature(bytes_list=t.BytesList(value=[b'a"\n\x00\xffz\\\'', "\u00e9".encode()]))
    floats = t.Feature(float_list=t.FloatList(value=[2.718281828, 1.5, 0.1, 1e30, -0.0, 1 / 3, 123456789.0, np.nan, np.inf]))
    whole = t.Feature(int64_list=t.Int64List(value=[7, -4]))
    for feature in (texts, floats, whole, t.Feature()):
        yield str(feature)
        yield feature.SerializeToString()
        yield str(t.Feature.FromString(feature.SerializeToString())) == str(feature)
    example = t.Example(features=t.Features(feature={"n": whole}))
    yield str(example)
    yield t.Example.FromString(example.SerializeToString()) == example
    yield example == t.Example()
    read = t.Example()
    yield read.ParseFromString(example.SerializeToString())
    yield list(read.features.feature["n"].int64_list.value)


@program
def names_of_older_scripts(tf: Any) -> Iterator[Any]:
    v1 = tf.compat.v1
    x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.zeros((2, 2))
    yield v1.where(tf.constant([True, False]), x, y)  # whole rows
    yield v1.where(x > 1.5, x, y)
    yield v1.where(tf.constant([True, False, True]))
    yield tf.compat.v2.constant(1.5)
    settings = v1.ConfigProto(allow_soft_placement=True)
    settings.gpu_options.allow_growth = True
    session = v1.Session(config=settings)
    session.close()
    tf.autograph.experimental.set_loop_options(maximum_iterations=3)
    yield [int(i) for i in tf.data.experimental.Counter(3, 2).take(3)]
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    yield options.experimental_custom_gradients
    yield tf.saved_model.LoadOptions().allow_partial_checkpoint


@program
def transposes_of_convolutions_by_rank(tf: Any) -> Iterator[Any]:
    for axes in (1, 2, 3):
        x = tf.reshape(tf.range(1.0, 1.0 + 3**axes * 2), (1, *[3] * axes, 2))
        w = tf.reshape(tf.range(2.0**axes * 6) / 10.0, (*[2] * axes, 3, 2))
        with tf.GradientTape() as t:
            t.watch([x, w])
            y = tf.nn.conv_transpose(x, w, (1, *[6] * axes, 3), strides=2)
        yield y
        yield t.gradient(y, [x, w])
    yield lambda: tf.nn.conv_transpose(x, w, (1, 6), 2)


@program
def tensors_like_one_of_open_length(tf: Any) -> Iterator[Any]:
    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32)])
    def rounded(x):
        return tf.where(x > 0.5, tf.ones_like(x, dtype=tf.float64), 0.0), tf.zeros_like(x), tf.ones_like(x, tf.int32)

    yield rounded(tf.constant([[0.25], [0.75]]))
    yield rounded(tf.constant([[0.75], [0.25], [0.5]]))
