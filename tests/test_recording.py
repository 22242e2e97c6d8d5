import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import pytest

import tapegrad as tg
from tapegrad.core.recorder import EMPTY, state
from tapegrad.errors import ArgumentError


@pytest.fixture
def x() -> tg.Tensor:
    return tg.asarray(2.0)


# -- no_grad ---------------------------------------------------------------------------------------------------
def test_tapes_around_no_grad_record_nothing_inside(x: tg.Tensor) -> None:
    with tg.GradientTape(persistent=True) as outer, tg.GradientTape(persistent=True) as inner:
        outer.watch(x)
        inner.watch(x)
        with tg.no_grad():
            y = x * x
        z = y * x
    for tape in (outer, inner):
        assert tape.gradient(y, x) is None
        assert float(tape.gradient(z, x)) == 4


def test_a_tape_entered_inside_no_grad_records(x: tg.Tensor) -> None:
    with tg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tg.no_grad(), tg.GradientTape() as inner:
            inner.watch(x)
            y = x * x
    assert float(inner.gradient(y, x)) == 4
    assert outer.gradient(y, x) is None


def test_a_variable_first_read_inside_no_grad_is_not_watched() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape() as tape:
        with tg.no_grad():
            v * v
        assert tape.watched_variables() == ()


def test_no_grad_nests_and_can_be_used_again(x: tg.Tensor) -> None:
    off = tg.no_grad()
    with tg.GradientTape() as tape:
        tape.watch(x)
        with off:
            with off, tg.no_grad():
                pass
            y = x * x
        z = x * y
        with off:
            z = z + tg.stop_gradient(x) * x
    assert tape.gradient(y, x) is None
    assert z.node is None


def test_no_grad_as_a_decorator(x: tg.Tensor) -> None:
    @tg.no_grad()
    def square(x: tg.Tensor) -> tg.Tensor:
        """The square."""
        return x * x

    with tg.GradientTape() as tape:
        tape.watch(x)
        y = square(x) * x
    assert square.__name__ == "square"
    assert square.__doc__ == "The square."
    assert float(tape.gradient(y, x)) == 4


def test_an_exception_inside_no_grad_resumes_recording(x: tg.Tensor) -> None:
    @tg.no_grad()
    def fail() -> None:
        raise ZeroDivisionError

    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError), tg.no_grad():
            raise ZeroDivisionError
        with pytest.raises(ZeroDivisionError):
            fail()
        y = x * x
    assert float(tape.gradient(y, x)) == 4


def test_a_decorated_generator_is_off_only_while_its_body_runs(x: tg.Tensor) -> None:
    @tg.no_grad()
    def squares(n: int) -> Iterator[tg.Tensor]:
        for _ in range(n):
            yield x * x

    with tg.GradientTape() as tape:
        tape.watch(x)
        total = tg.asarray(0.0)
        for y in squares(3):
            assert y.node is None
            total = total + y * x
    assert float(tape.gradient(total, x)) == 12


def test_a_decorated_generator_can_be_sent_to_thrown_into_and_closed(x: tg.Tensor) -> None:
    seen: list[object] = []

    @tg.no_grad()
    def echo() -> Iterator[object]:
        try:
            while True:
                try:
                    seen.append((yield x * x))
                except KeyError:
                    seen.append("caught")
        finally:
            seen.append(state.active is EMPTY)

    with tg.GradientTape() as tape:
        tape.watch(x)
        running = echo()
        next(running)
        assert running.send("sent").node is None
        running.throw(KeyError)
        running.close()
        y = x * x
    assert seen == ["sent", "caught", True]
    assert float(tape.gradient(y, x)) == 4


def test_a_decorated_generator_gives_its_return_value_and_its_errors(x: tg.Tensor) -> None:
    @tg.no_grad()
    def body(fails: bool) -> Iterator[int]:
        yield 1
        if fails:
            raise KeyError("inside")
        return 5

    def outer() -> Iterator[int]:
        result = yield from body(False)
        yield result

    with tg.GradientTape():
        assert list(outer()) == [1, 5]
        with pytest.raises(KeyError, match="inside"):
            list(body(True))
        assert state.active is not type(state).active


def test_a_decorated_coroutine_is_off_only_while_its_body_runs(x: tg.Tensor) -> None:
    @tg.no_grad()
    async def hidden() -> tg.Tensor:
        y = x * x
        await asyncio.sleep(0)
        return y * x

    async def seen() -> tg.Tensor:
        await asyncio.sleep(0)
        return x * 3

    async def both() -> list[tg.Tensor]:
        return await asyncio.gather(hidden(), seen(), hidden())

    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        a, b, c = asyncio.run(both())
    assert [g if g is None else float(g) for g in (tape.gradient(y, x) for y in (a, b, c))] == [None, 3, None]


def test_tasks_with_tapes_across_an_await_get_gradients_of_their_own_and_leave_nothing_behind() -> None:
    async def slope(v: tg.Variable, *, order: int) -> tg.Tensor:
        with tg.GradientTape() as tape:
            y = v * v
            for _ in range(order):
                await asyncio.sleep(0)
            z = y * v
        return tape.gradient(z, v)

    async def failing(v: tg.Variable) -> None:
        with tg.GradientTape():
            _ = v * v
            await asyncio.sleep(0)
            raise ValueError("on purpose")

    async def never_ending(v: tg.Variable) -> None:
        with tg.GradientTape():
            while True:
                _ = v * v
                await asyncio.sleep(0)

    async def main() -> list[float]:
        a, b = tg.Variable(2.0), tg.Variable(3.0)
        endless = asyncio.create_task(never_ending(b))
        found = await asyncio.gather(
            slope(a, order=3), slope(b, order=1), failing(a), slope(a, order=2), return_exceptions=True
        )
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)
        assert isinstance(found.pop(2), ValueError)
        return [float(g) for g in found]

    assert asyncio.run(main()) == [12, 27, 12]
    assert state.active is type(state).active


def test_an_asynchronous_generator_is_refused() -> None:
    async def body() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(ArgumentError, match="body is an asynchronous generator"):
        tg.no_grad()(body)


# -- contexts that are left late, early, or in another order -----------------------------------------------
def test_a_generator_suspended_inside_a_tape_and_closed_late_takes_only_its_own_tape(x: tg.Tensor) -> None:
    def body() -> Iterator[None]:
        with tg.GradientTape() as own:
            own.watch(x)
            yield
            yield

    with tg.GradientTape() as first:
        running = body()
        next(running)
    with tg.GradientTape() as second:
        second.watch(x)
        running.close()
        y = x * x
    assert state.active is type(state).active
    assert float(second.gradient(y, x)) == 4
    assert first.gradient(y, x) is None


def test_a_generator_suspended_inside_no_grad_and_closed_late_resumes_what_is_still_recording(x: tg.Tensor) -> None:
    def body() -> Iterator[None]:
        with tg.no_grad():
            yield

    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        running = body()
        next(running)
        y = x * x
        running.close()
        z = x * x
        running = body()
        next(running)
    running.close()
    assert state.active is type(state).active
    assert tape.gradient(y, x) is None
    assert float(tape.gradient(z, x)) == 4


def test_a_generator_suspended_inside_stop_recording_and_collected_late(x: tg.Tensor) -> None:
    def body(tape: tg.GradientTape) -> Iterator[None]:
        with tape.stop_recording():
            yield

    with tg.GradientTape() as tape:
        tape.watch(x)
        running = body(tape)
        next(running)
        del running
        gc.collect()
        y = x * x
    assert float(tape.gradient(y, x)) == 4


def test_contexts_may_be_left_in_any_order(x: tg.Tensor) -> None:
    a, b, off = tg.GradientTape(), tg.GradientTape(), tg.no_grad()
    a.__enter__()
    off.__enter__()
    b.__enter__()
    b.watch(x)
    y = x * x
    a.__exit__(None, None, None)
    off.__exit__(None, None, None)
    z = y * x
    b.__exit__(None, None, None)
    assert state.active is type(state).active
    assert float(b.gradient(z, x)) == 12


def test_an_exception_out_of_many_contexts_leaves_none_of_them_recording(x: tg.Tensor) -> None:
    def interrupted() -> None:
        with ExitStack() as stack:
            tapes = [stack.enter_context(tg.GradientTape(persistent=True)) for _ in range(3)]
            stack.enter_context(tapes[1].stop_recording())
            stack.enter_context(tg.no_grad())
            stack.enter_context(tg.ForwardAccumulator(x, tg.asarray(1.0)))
            stack.enter_context(tg.GradientTape())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert state.active is type(state).active


def test_an_exception_inside_a_kernel_leaves_recording_as_it_was(x: tg.Tensor) -> None:
    def fails(xp: object, x: object, /) -> object:
        """Nothing: it fails."""
        raise ZeroDivisionError("inside")

    op = tg.linear(laws="only here", public=False)(fails)
    op.adjoint(x=lambda F, g: g)
    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError, match="inside"):
            op(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 4


# -- stop_gradient -------------------------------------------------------------------------------------------
def test_stop_gradient_takes_structures_numbers_and_none() -> None:
    v = tg.Variable([1.5, 2.5])
    with tg.GradientTape():
        found = tg.stop_gradient({"v": v, "rest": [v * 2, 3.5, None]})
    assert found["v"].tolist() == [1.5, 2.5]
    assert type(found["v"]) is tg.Tensor
    assert found["rest"][0].node is None
    assert float(found["rest"][1]) == 3.5
    assert found["rest"][2] is None
