"""`tf.test.TestCase`: unittest's, with assertions on tensors; absl's, where absl is installed, as TensorFlow's is."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.errors import OpError
from tapegrad.tf.random_functions import set_seed

_Base: Any
main: Any
try:
    from absl.testing import absltest

    _Base, main = absltest.TestCase, absltest.main
except ImportError:
    _Base, main = unittest.TestCase, unittest.main

#: TensorFlow's tests start from this seed.
SEED = 87654321


class TestCase(_Base):  # type: ignore[misc]  # what it is, is known at run time
    """A case whose assertions take tensors, arrays, numbers, and structures of them."""

    __test__ = False  # pytest collects what inherits from it

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        cls.__test__ = True

    def setUp(self) -> None:
        """Every random number starts anew."""
        super().setUp()
        random.seed(SEED)
        np.random.seed(SEED)
        set_seed(SEED)

    # -- values -----------------------------------------------------------------------------------------------
    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors, as arrays."""
        return nest.map_structure(lambda x: None if x is None else convert(x).numpy(), tensors)

    @contextlib.contextmanager
    def session(self, *args: Any, **words: Any) -> Iterator[Session]:
        """Nothing to open: ops are computed at once."""
        yield Session(self)

    cached_session = session

    def get_temp_dir(self) -> str:
        """A directory for this case, which is removed after it."""
        if not hasattr(self, "_directory"):
            self._directory = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self._directory, True)
        return self._directory

    # -- closeness ------------------------------------------------------------------------------------------------
    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fail unless both have one structure, and arrays in one place have one shape and are close."""
        self._each(a, b, lambda x, y: self._close(x, y, rtol, atol, msg or ""), "")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """The same, with the tolerance of the narrower dtype."""
        kinds = {_array(x).dtype.name for x in (a, b)}
        for names, r, t in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if kinds & names:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fail if they are close."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self.fail(msg or "The two values are close at all elements.")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail unless arrays have one shape and the same elements; nan is nan."""
        x, y = _array(a), _array(b)
        self._expect(x.shape == y.shape, f"Shape mismatch: expected {x.shape}, got {y.shape}. {msg or ''}")
        same = x == y
        if x.dtype.kind in "fc" and y.dtype.kind in "fc":
            same = same | (np.isnan(x) & np.isnan(y))
        self._all(same, x, y, f"not equal. {msg or ''}")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail if all elements are the same."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(msg or "The two values are equal at all elements.")

    def assertNear(self, f1: Any, f2: Any, err: float, msg: str | None = None) -> None:
        """Fail unless two numbers are at most `err` apart."""
        a, b = float(_array(f1)), float(_array(f2))
        self._expect(a == b or abs(a - b) <= err, f"{a:f} != {b:f} +/- {err:f}{f' ({msg})' if msg else ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """The same, for each number of two lists."""
        self._expect(len(farray1) == len(farray2), msg or "lengths")
        for x, y in zip(farray1, farray2, strict=True):
            self.assertNear(x, y, err, msg)

    # -- ranges and kinds -------------------------------------------------------------------------------------------
    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is greater."""
        self._all(_array(a) > comparison_target, _array(a), comparison_target, "not greater")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is less."""
        self._all(_array(a) < comparison_target, _array(a), comparison_target, "not less")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is at least that."""
        self._all(_array(a) >= comparison_target, _array(a), comparison_target, "less")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is at most that."""
        self._all(_array(a) <= comparison_target, _array(a), comparison_target, "greater")

    def assertAllInRange(
        self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False, open_upper_bound: bool = False
    ) -> None:
        """Fail unless every element lies in a range."""
        x = _array(target)
        above = x > lower_bound if open_lower_bound else x >= lower_bound
        below = x < upper_bound if open_upper_bound else x <= upper_bound
        self._all(above & below, x, (lower_bound, upper_bound), "not in the range")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Fail unless every element is one of these."""
        x = _array(target)
        self._all(np.isin(x, list(expected_set)), x, expected_set, "not in the set")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fail unless the elements have this dtype."""
        found = _array(target).dtype
        wanted = getattr(expected_dtype, "as_numpy_dtype", expected_dtype)
        self._expect(found == np.dtype(wanted), f"dtype {found}, expected {wanted}")

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Fail unless an array and a tensor have one shape."""
        self._expect(np.shape(input_a) == np.shape(input_b), msg or f"shapes {np.shape(input_a)} and {np.shape(input_b)}")

    # -- errors -----------------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """Fail unless an error of this type is raised for which a function is true, or whose text has a pattern."""
        fits: Callable[[Any], Any] = (
            expected_err_re_or_predicate
            if callable(expected_err_re_or_predicate)
            else lambda error: re.search(expected_err_re_or_predicate, str(error))
        )
        try:
            yield
        except exception_type as error:
            self._expect(fits(error), f"Exception of type {type(error)}: {error}")
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Fail unless an op raises an error whose text has a pattern."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    # -- how it is done ---------------------------------------------------------------------------------------------
    def _expect(self, is_so: Any, text: str) -> None:
        if not is_so:
            self.fail(text)

    def _each(self, a: Any, b: Any, check: Callable[[Any, Any], None], path: str) -> None:
        """Compare two structures, leaf by leaf."""
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            self._expect(isinstance(a, Mapping), f"{path or 'a'} is no mapping")
            self._expect(isinstance(b, Mapping), f"{path or 'b'} is no mapping")
            self._expect(set(a) == set(b), f"keys at {path or 'the top'}")
            for k in a:
                self._each(a[k], b[k], check, f"{path}[{k!r}]")
            return
        if isinstance(a, list | tuple) and isinstance(b, list | tuple) and (_is_ragged(a) or _is_ragged(b)):
            self._expect(len(a) == len(b), f"lengths at {path or 'the top'}")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._each(x, y, check, f"{path}[{i}]")
            return
        check(a, b)

    def _close(self, a: Any, b: Any, rtol: float, atol: float, msg: str) -> None:
        x, y = _array(a), _array(b)
        self._expect(x.shape == y.shape, f"Shape mismatch: expected {x.shape}, got {y.shape}. {msg}")
        with np.errstate(invalid="ignore"):
            same = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
        self._all(same, x, y, f"not close: rtol = {rtol}, atol = {atol}. {msg}")

    def _all(self, same: Any, x: Any, y: Any, text: str) -> None:
        if not np.all(same):
            places = np.argwhere(~np.atleast_1d(same))[:5].tolist()
            self.fail(f"{np.size(same) - np.count_nonzero(same)} of {np.size(same)} elements {text}\n  at {places}\n  a = {x}\n  b = {y}")


class Session:
    """What `with self.session() as sess` gives."""

    def __init__(self, case: TestCase) -> None:
        self.run = case.evaluate


def _array(x: Any) -> Any:
    """A value as an array."""
    if isinstance(x, core.Tensor) or hasattr(x, "__tapegrad_tensor__") or hasattr(x, "_as_dense"):
        x = convert(x).numpy()
    return np.asarray([_array(v) for v in x]) if isinstance(x, list | tuple) else np.asarray(x)


def _is_ragged(x: Any) -> bool:
    """Whether a sequence is a structure, and not one array."""
    shapes = {np.shape(_array(v)) if not isinstance(v, list | tuple | Mapping) else None for v in x}
    return len(shapes) > 1 or None in shapes or any(isinstance(v, Mapping) for v in x)
