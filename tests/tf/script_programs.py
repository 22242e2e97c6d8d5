"""Small scripts of TensorFlow: control flow, functions, training; each yields what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: list[Callable[[Any], Iterator[Any]]] = []


def program(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    PROGRAMS.append(f)
    return f


@program
def arrays_of_tensors(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as t:
        t.watch(x)
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(3):
            ta = ta.write(i, x[i] ** 2)
        y = ta.stack()
    yield y
    yield t.gradient(y, x)
    yield int(ta.size())
    ta = tf.TensorArray(tf.float32, 3).unstack(x)
    yield ta.read(1)
    yield ta.gather([0, 2])
    yield ta.element_shape
    ta = tf.TensorArray(tf.float32, 3, clear_after_read=False).scatter([2, 0, 1], x)
    yield ta.stack()
    ta = tf.TensorArray(tf.float32, 3).split(x, [1, 2, 0]) if False else None


@program
def loops(tf: Any) -> Iterator[Any]:
    x = tf.constant(1.5)
    with tf.GradientTape() as t:
        t.watch(x)
        _, acc, arr = tf.while_loop(
            lambda i, a, ta: i < 4,
            lambda i, a, ta: (i + 1, a * x, ta.write(i, a)),
            (tf.constant(0), x, tf.TensorArray(tf.float32, 4)),
        )
        y = tf.reduce_sum(arr.stack()) + acc
    yield y
    yield t.gradient(y, x)


@program
def scans(tf: Any) -> Iterator[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    w = tf.constant([0.5, 0.1])
    with tf.GradientTape() as t:
        t.watch([x, w])
        a, b = tf.scan(lambda s, e: (s[0] * w + e, s[1] + tf.reduce_sum(e)), x, initializer=(tf.zeros(2), 0.0))
        y = tf.reduce_sum(a**2) + tf.reduce_sum(b)
    yield a
    yield b
    yield t.gradient(y, [x, w])


@program
def maps_of_several(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    y = tf.constant([[1.0], [2.0]])
    with tf.GradientTape(persistent=True) as t:
        t.watch([x, y])
        a, b = tf.map_fn(lambda e: (e[0] * e[1], e[0] ** 2), (x, y), fn_output_signature=(tf.float32, tf.float32))
    yield a
    yield b
    yield t.gradient([a, b], [x, y])
    d = tf.map_fn(lambda e: {"q": e["a"] + 1}, {"a": x}, fn_output_signature={"q": tf.float32})
    yield d


@program
def conditions(tf: Any) -> Iterator[Any]:
    for v in (1.0, -1.0):
        x = tf.constant(v)
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.cond(x > 0, lambda x=x: x * x, lambda x=x: -3.0 * x)
        yield t.gradient(y, x)


@program
def functions_of_python(tf: Any) -> Iterator[Any]:
    x, z = tf.constant([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape() as t:
        t.watch([x, z])
        a, b = tf.py_function(lambda p, q: (p * q, p**2), [x, z], [tf.float32, tf.float32])
    yield t.gradient([a, b], [x, z])


@program
def tensors_in_python(tf: Any) -> Iterator[Any]:
    yield [int(i) for i in tf.range(3)]
    yield [(i, float(v)) for i, v in enumerate(tf.constant([1.0, 2.0]))]
    yield [float(a * b) for a, b in zip(tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0]), strict=False)]
    a, _b = tf.constant([1.0, 2.0])
    yield a
    yield sum(tf.constant([1.0, 2.0]))
    yield max(tf.constant([1.0, 2.0]))
    yield sorted(tf.constant([2, 1]).numpy())
    yield list(reversed(tf.constant([1, 2]).numpy()))
    yield bool(tf.constant(0))
    yield not tf.constant([]).shape[0]
    yield lambda: bool(tf.constant([]))
    yield 1 if tf.constant(True) else 0
    yield tf.constant(3) in [tf.constant(3)]
    yield int(tf.constant(3.7))
    yield float(tf.constant(3))
    yield complex(tf.constant(1j))
    yield round(float(tf.constant(1.25)), 1)
    yield lambda: int(tf.constant([1]))
    yield lambda: float(tf.constant([[1.0]]))
    yield lambda: float(tf.constant("1.5"))
    yield np.array([tf.constant(1.0), tf.constant(2.0)])
    yield np.asarray(tf.constant([1, 2])).dtype
    yield np.stack([tf.constant([1.0]), tf.constant([2.0])])
    yield np.mean(tf.constant([1.0, 2.0]))
    yield np.concatenate([tf.constant([1.0]), np.ones(1)])
    yield np.float32(2.0) * tf.constant(3.0)
    yield np.ones(2, np.float32) + tf.constant([1.0, 2.0])
    yield tf.constant([1.0, 2.0]) ** np.float32(2)
    yield np.allclose(tf.constant([1.0]), [1.0])
    yield isinstance(tf.constant(1.0).numpy(), np.float32)


@program
def functions_that_are_compiled(tf: Any) -> Iterator[Any]:
    @tf.function
    def f(x):
        if tf.executing_eagerly():
            pass
        return tf.reduce_sum(x**2)

    for d in (tf.float32, tf.float64):
        yield f(tf.ones(3, d))

    class M(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones((2, 1)), name="w")
            return x @ self.w

    m = M()
    yield m(tf.ones((3, 2)))
    yield m(tf.ones((1, 2)))
    yield [v.name for v in m.trainable_variables]
    with tf.GradientTape() as t:
        y = tf.reduce_sum(m(tf.ones((3, 2))))
    yield t.gradient(y, m.trainable_variables)
    v = tf.Variable(1.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as t:
            y = v * x * v
        g = t.gradient(y, v)
        v.assign_sub(0.1 * g)
        return y, g

    yield step(tf.constant(2.0))
    yield step(tf.constant(2.0))
    yield v

    @tf.function(reduce_retracing=True)
    def g(x, flag=True, *, scale=2.0):
        return {"o": x * scale if flag else -x, "l": [x, (x,)]}

    yield g(tf.constant(1.0))
    yield g(tf.constant(1.0), False)
    yield g(tf.constant(1.0), scale=3.0)

    @tf.function
    def h(a):
        return tf.where(a > 0, a, -a), tf.shape(a), a.shape[0]

    yield h(tf.constant([-1.0, 2.0]))

    @tf.function(jit_compile=True)
    def j(a):
        return tf.tanh(a) * 2

    yield j(tf.constant([1.0]))

    @tf.function
    def n():
        return None

    yield n()

    @tf.custom_gradient
    def cg(x):
        return x * x, lambda u: u * 100.0

    @tf.function
    def c(x):
        return cg(x) + x

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = c(x)
    yield t.gradient(y, x)
    yield lambda: f.get_concrete_function(tf.TensorSpec([None], tf.float32))(tf.constant([1.0, 2.0]))
    yield lambda: tf.function(lambda a, b: a + b)(1, 2)
    yield lambda: tf.function(lambda **k: k["a"])(a=tf.constant(1.0))
    yield lambda: tf.function(lambda *a: a[1])(1.0, 2.0)
    with tf.control_dependencies([v.assign(5.0)]):
        z = tf.identity(v)
    yield z
    with tf.init_scope():
        q = tf.constant(1)
    yield q


@program
def training(tf: Any) -> Iterator[Any]:
    tf.random.set_seed(0)
    W = tf.Variable(tf.random.normal((3, 2), seed=1))
    b = tf.Variable(tf.zeros(2))
    X = tf.random.normal((8, 3), seed=2)
    Y = tf.one_hot(tf.argmax(X[:, :2], 1), 2)
    ms = [tf.Variable(tf.zeros_like(p), trainable=False) for p in (W, b)]
    for _i in range(5):
        with tf.GradientTape() as t:
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(Y, X @ W + b)) + 1e-3 * tf.add_n(
                [tf.nn.l2_loss(p) for p in (W, b)]
            )
        gs = t.gradient(loss, [W, b])
        gs, n = tf.clip_by_global_norm(gs, 0.5)
        for p, g, m in zip((W, b), gs, ms, strict=False):
            m.assign(0.9 * m + g)
            p.assign_sub(0.1 * m)
        yield loss
        yield n
    yield W
    yield [v.shape for v in t.watched_variables()]


@program
def a_gradient_penalty(tf: Any) -> Iterator[Any]:
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    x = tf.constant([[0.1, 0.2], [0.3, 0.4]])
    with tf.GradientTape() as o:
        with tf.GradientTape() as t:
            t.watch(x)
            d = tf.tanh(x @ w)
        g = t.gradient(d, x)
        n = tf.sqrt(tf.reduce_sum(tf.square(g), axis=[1]))
        p = tf.reduce_mean((n - 1.0) ** 2)
    yield p
    yield o.gradient(p, w)


@program
def a_differential_equation(tf: Any) -> Iterator[Any]:
    w1 = tf.Variable(np.linspace(-1, 1, 8).reshape(1, 8).astype("f4"))
    w2 = tf.Variable(np.linspace(-1, 1, 8).reshape(8, 1).astype("f4"))
    x = tf.constant([[0.1], [0.5], [0.9]])
    with tf.GradientTape() as o:
        with tf.GradientTape(persistent=True) as t2:
            t2.watch(x)
            with tf.GradientTape() as t1:
                t1.watch(x)
                u = tf.tanh(x @ w1) @ w2
            ux = t1.gradient(u, x)
        uxx = t2.gradient(ux, x)
        loss = tf.reduce_mean((uxx + u) ** 2)
    yield u
    yield ux
    yield uxx
    yield o.gradient(loss, [w1, w2])


@program
def a_policy(tf: Any) -> Iterator[Any]:
    tf.random.set_seed(3)
    lg = tf.Variable([0.1, 0.2, 0.7])
    with tf.GradientTape() as t:
        lp = tf.nn.log_softmax(lg)
        a = tf.constant([2, 0, 1])
        r = tf.constant([1.0, -1.0, 0.5])
        loss = -tf.reduce_mean(tf.gather(lp, a) * r) - 0.01 * tf.reduce_sum(tf.exp(lp) * lp)
    yield t.gradient(loss, lg)
    yield tf.random.categorical(tf.math.log([[0.5, 0.5]]), 4)
    yield tf.reduce_sum(tf.one_hot([1, 0], 3) * [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1)


@program
def a_recurrent_network(tf: Any) -> Iterator[Any]:
    W = tf.Variable(np.linspace(-0.5, 0.5, 15).reshape(5, 3).astype("f4"))
    X = tf.constant(np.linspace(-1, 1, 16).reshape(2, 4, 2).astype("f4"))
    with tf.GradientTape() as t:
        h = tf.zeros((2, 3))
        hs = []
        for x in tf.unstack(X, axis=1):
            h = tf.tanh(tf.concat([x, h], -1) @ W)
            hs.append(h)
        y = tf.reduce_sum(tf.stack(hs, 1) ** 2)
    yield y
    yield t.gradient(y, W)
    with tf.GradientTape() as t:
        hs = tf.scan(
            lambda h, x: tf.tanh(tf.concat([x, h], -1) @ W), tf.transpose(X, [1, 0, 2]), initializer=tf.zeros((2, 3))
        )
        y = tf.reduce_sum(hs**2)
    yield t.gradient(y, W)


@program
def vectors_of_words(tf: Any) -> Iterator[Any]:
    E = tf.Variable(np.linspace(-1, 1, 20).reshape(5, 4).astype("f4"))
    C = tf.Variable(np.linspace(1, -1, 20).reshape(5, 4).astype("f4"))
    with tf.GradientTape() as t:
        loss = tf.nn.sigmoid_cross_entropy_with_logits(
            tf.constant([1.0, 0.0]),
            tf.reduce_sum(tf.nn.embedding_lookup(E, [1, 3]) * tf.nn.embedding_lookup(C, [0, 0]), 1),
        )
        y = tf.reduce_mean(loss)
    ge, gc = t.gradient(y, [E, C])
    yield ge
    yield gc
    E.assign_sub(tf.convert_to_tensor(ge))
    yield E
    E.scatter_sub(ge)
    yield E
    yield tf.clip_by_global_norm([ge, gc], 0.1)[1]


@program
def training_from_a_dataset(tf: Any) -> Iterator[Any]:
    X = np.arange(12.0).reshape(6, 2).astype("f4")
    y = (X.sum(1) > 10).astype("i4")
    ds = (
        tf.data.Dataset.from_tensor_slices((X, y))
        .shuffle(6, seed=1)
        .map(lambda a, b: (a / 10.0, tf.cast(b, tf.float32)))
        .batch(4)
        .prefetch(1)
    )
    w = tf.Variable(tf.zeros(2))
    for _e in range(2):
        for a, b in ds:
            with tf.GradientTape() as t:
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(b, tf.linalg.matvec(a, w)))
            w.assign_sub(t.gradient(loss, w))
            yield loss
    yield w
    yield ds.element_spec
    yield len(ds)
    yield [tuple(a.shape) for a, _ in ds]


@program
def jacobians_of_many_functions(tf: Any) -> Iterator[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    W = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.nn.softmax(x @ W)
        z = tf.image.resize(tf.reshape(y, (1, 2, 2, 1)), (3, 3))
        s = tf.sort(x)
        c = tf.linalg.inv(x)
        e = tf.gather(W, [1, 1])
        k = tf.math.cumsum(x * x)
        m = tf.map_fn(lambda r: r * r, x)
        expm = tf.linalg.expm(x / 5)
        p = tf.pad(x, [[1, 0], [0, 0]], "REFLECT")
        q = tf.where(x > 2, x * x, x)
    for v in (y, z, s, c, k, m, expm, p, q):
        yield t.jacobian(v, x)
    yield t.jacobian(y, W)
    yield t.jacobian(e, W)
    yield t.jacobian(y, [x, W])
    yield t.batch_jacobian(y, x)
    yield t.jacobian(y, tf.constant(1.0))


@program
def creators_of_variables_are_asked_from_the_inside_out(tf: Any) -> Iterator[Any]:
    asked = []

    def doubled(next_creator, **words):
        asked.append(("doubled", words["trainable"]))
        return next_creator(**{**words, "initial_value": tf.convert_to_tensor(words["initial_value"]) * 2})

    def frozen(next_creator, **words):
        asked.append(("frozen", words["name"]))
        return next_creator(**{**words, "trainable": False, "name": "made"})

    with tf.variable_creator_scope(doubled), tf.variable_creator_scope(frozen):
        v = tf.Variable(1.5, name="w")
    yield [v, v.trainable, v.name, asked]
    yield tf.Variable(1.5).trainable


@program
def rows_of_each_member_of_a_batch_are_replaced(tf: Any) -> Iterator[Any]:
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    yield v.batch_scatter_update(tf.IndexedSlices([[9.0, 8.0], [7.0, 6.5]], [[2, 0], [1, 0]]))
    w = tf.Variable([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    yield w.batch_scatter_update(tf.IndexedSlices([[[10, 20]], [[30, 40]]], [[1], [0]]))
    yield lambda: v.batch_scatter_update(tf.IndexedSlices([[9.0], [7.0]], [[3], [0]]))


@program
def a_scan_keeps_the_structure_and_shape_of_its_accumulator(tf: Any) -> Iterator[Any]:
    yield lambda: tf.scan(lambda a, x: (a, x), tf.constant([1.0, 2.0]))
    yield lambda: tf.scan(lambda a, x: tf.concat([a, [x]], 0), tf.constant([1.0, 2.0]), initializer=tf.zeros([0]))
    yield lambda: tf.scan(lambda a, x: a + x, tf.zeros([0]))
    yield tf.scan(lambda a, x: (a[1], a[0] + x), tf.constant([1.0, 2.0]), initializer=(tf.constant(0.5), tf.constant(1.0)))


@program
def datasets_drawn_for_a_seed_and_what_they_refuse(tf: Any) -> Iterator[Any]:
    numbers = tf.data.Dataset.range(6)
    yield list(tf.data.Dataset.random(seed=3).take(3).as_numpy_iterator())
    parts = [numbers, numbers.map(lambda x: x + 10), numbers.map(lambda x: x + 20)]
    for weights in (None, [0.5, 0.2, 0.3]):
        drawn = tf.data.Dataset.sample_from_datasets(parts, weights, seed=4)
        yield list(drawn.as_numpy_iterator())
    yield lambda: list(numbers.filter(lambda x: x))
    yield lambda: list(numbers.take_while(lambda x: x - 3))
    yield lambda: numbers.apply(lambda d: 3)
    yield lambda: list(numbers.shuffle(0))


@program
def options_of_a_dataset_are_those_of_what_is_made_of_it(tf: Any) -> Iterator[Any]:
    options, later = tf.data.Options(), tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 2
    later.deterministic = True
    a = tf.data.Dataset.range(3).with_options(options)
    b = tf.data.Dataset.range(3).with_options(later)
    for d in (a.map(lambda x: x + 1).batch(2), tf.data.Dataset.zip((a, b)), a.concatenate(b), b.concatenate(a), b.repeat()):
        yield d.options().deterministic
        yield d.options().threading.private_threadpool_size


@program
def numbers_truths_and_texts_have_to_be_such(tf: Any) -> Iterator[Any]:
    x, counted = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.data.Dataset.range(3)
    for wrong in (1.5, "a", None):
        yield from (lambda f=f, w=wrong: f(w) for f in (counted.take, counted.batch, counted.shuffle, tf.data.Dataset.range))
        yield lambda w=wrong: tf.one_hot([1], w) if w != "a" else tf.one_hot([1], None)
        yield lambda w=wrong: tf.eye(w)
    yield lambda: tf.math.top_k([1.0, 2.0], None)
    yield lambda: tf.math.top_k([True], 1)
    yield lambda: tf.linalg.band_part(x, 1.0, 0)
    yield lambda: tf.linalg.band_part(x, 5, 0)
    yield lambda: tf.linspace(0.0, 1.0, None)
    yield tf.linspace(0.0, 1.0, 0)
    yield lambda: tf.repeat(x, 1.5)
    yield lambda: tf.pad(x, [[1.0, 0.0], [0.0, 0.0]])
    yield lambda: tf.reverse(x, 0)
    yield lambda: tf.fill([-1], 1.0)
    yield lambda: tf.sequence_mask([1], -1)
    yield lambda: tf.dynamic_partition([1.0], [5], 2)
    yield lambda: tf.dynamic_partition([1.0], [0.0], 2)
    yield lambda: tf.math.unsorted_segment_sum([True], [0], 1)
    yield lambda: tf.random.categorical([[0.0]], 1.5)
    yield lambda: tf.cast(x, None)
    yield lambda: tf.ones([2], None)
    for f in (tf.logical_not, tf.reduce_all, lambda v: tf.logical_or(v, True), lambda v: tf.where(v, x, x)):
        yield lambda f=f: f(1)
        yield lambda f=f: f(tf.constant([1.0]))
        yield f([True, False])
    yield lambda: tf.strings.length(1)
    yield lambda: tf.strings.join(["a", 1])
    yield lambda: tf.strings.length(tf.constant(1))
    yield lambda: counted.map(None)
    yield lambda: counted.filter(3)
    yield lambda: tf.TensorArray(tf.float32)
    yield lambda: tf.image.resize(tf.zeros([1, 2, 2, 1]), 3)
    yield lambda: tf.nn.avg_pool2d(tf.zeros([1, 4, 4, 1], tf.int32), 2, 1, "SAME")
    yield lambda: tf.nn.log_softmax(2.0)
    yield tf.add_n(x)


def _feature(tf: Any, kind: str, *values: Any) -> Any:
    made = {"bytes_list": tf.train.BytesList, "float_list": tf.train.FloatList, "int64_list": tf.train.Int64List}
    return tf.train.Feature(**{kind: made[kind](value=list(values))})


@program
def examples_with_sequences(tf: Any) -> Iterator[Any]:
    steps = {
        "a": tf.train.FeatureList(feature=[_feature(tf, "int64_list", 1, 2), _feature(tf, "int64_list", 3, 4)]),
        "v": tf.train.FeatureList(feature=[_feature(tf, "float_list", 1.5), _feature(tf, "float_list", 2.5, 3.5)]),
    }
    context = tf.train.Features(feature={"n": _feature(tf, "int64_list", 3)})
    lists = tf.train.FeatureLists(feature_list=steps)
    one = tf.train.SequenceExample(context=context, feature_lists=lists).SerializeToString()
    only = tf.train.FeatureLists(feature_list={"a": tf.train.FeatureList(feature=[_feature(tf, "int64_list", 5, 6)])})
    two = tf.train.SequenceExample(feature_lists=only).SerializeToString()
    back = tf.train.SequenceExample.FromString(one)
    yield [len(f.feature) for _, f in sorted(back.feature_lists.feature_list.items())]
    yield list(back.feature_lists.feature_list["v"].feature[1].float_list.value)
    whole = {"n": tf.io.FixedLenFeature([], tf.int64, default_value=7)}
    fixed, ragged = tf.io.FixedLenSequenceFeature([2], tf.int64), tf.io.RaggedFeature(tf.float32, value_key="v")
    found, rows = tf.io.parse_single_sequence_example(one, whole, {"a": fixed, "v": tf.io.VarLenFeature(tf.float32)})
    yield [found["n"], rows["a"], tf.sparse.to_dense(rows["v"])]
    yield tf.io.parse_single_sequence_example(one, whole, {"r": ragged})[1]["r"].to_list()
    found, rows, lengths = tf.io.parse_sequence_example([one, two], whole, {"a": fixed, "v": tf.io.VarLenFeature(tf.float32)})
    yield [found["n"], rows["a"], tf.sparse.to_dense(rows["v"]), lengths["a"], sorted(lengths)]
    yield tf.io.parse_sequence_example([one, two], whole, {"r": ragged})[1]["r"].to_list()
    loose = tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)
    yield tf.io.parse_single_sequence_example(two, sequence_features={"q": loose})[1]["q"]
    for wrong in (
        {"q": fixed},
        {"v": tf.io.FixedLenSequenceFeature([1], tf.float32)},
        {"v": tf.io.FixedLenSequenceFeature([1], tf.int64)},
        {"v": tf.io.FixedLenFeature([1], tf.float32)},
        {},
    ):
        yield lambda wrong=wrong: tf.io.parse_single_sequence_example(one, sequence_features=wrong)


@program
def ragged_and_sparse_features_of_examples(tf: Any) -> Iterator[Any]:
    given = {
        "v": _feature(tf, "float_list", 1.5, 2.5, 3.5),
        "l": _feature(tf, "int64_list", 2, 1),
        "k": _feature(tf, "int64_list", 5, 0, 3),
    }
    one = tf.train.Example(features=tf.train.Features(feature=given)).SerializeToString()
    none = tf.train.Example(features=tf.train.Features(feature={})).SerializeToString()
    ragged = tf.io.RaggedFeature
    wanted = {
        "rows": ragged(tf.float32, value_key="v", partitions=[ragged.RowLengths("l")]),
        "v": ragged(tf.float32),
        "even": ragged(tf.float32, value_key="v", partitions=[ragged.UniformRowLength(3)]),
    }
    found = tf.io.parse_single_example(one, wanted)
    yield [found["rows"].to_list(), found["rows"].row_splits, found["v"], found["even"]]
    del wanted["even"]
    found = tf.io.parse_example([one, none], wanted)
    yield [found["rows"].to_list(), found["v"].to_list()]
    sparse = {"s": tf.io.SparseFeature("k", "v", tf.float32, 6)}
    yield tf.sparse.to_dense(tf.io.parse_single_example(one, sparse)["s"])
    yield tf.sparse.to_dense(tf.io.parse_example([one, none], sparse)["s"])
    yield lambda: tf.io.parse_single_example(one, {"v": tf.io.FixedLenSequenceFeature([], tf.float32)})
