"""The errors of TensorFlow, by its names."""

from __future__ import annotations

from typing import Any

from tapegrad.errors import TapegradError


class OpError(TapegradError):
    """An error inside an op: `message`, `op` and `node_def` (None: there are no graphs) and `error_code`."""

    error_code = 2

    def __init__(self, node_def: Any = None, op: Any = None, message: str | None = None, *args: Any) -> None:
        if message is None and op is None and isinstance(node_def, str):  # as errors are made in Python alone
            node_def, message = None, node_def
        super().__init__(message or "", *args)
        self.node_def = node_def
        self.op = op
        self.message = message or ""

    def __str__(self) -> str:
        return self.message


def _error(name: str, code: int, doc: str, *builtins: type) -> type[OpError]:
    return type(name, (OpError, *builtins), {"__doc__": doc, "__module__": __name__, "error_code": code})


OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = range(8)
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS = range(8, 16)
UNAUTHENTICATED = 16


class InvalidArgumentError(OpError, ValueError):
    """An op got something that it does not take: shapes that do not fit, another dtype, a label out of range."""

    error_code = INVALID_ARGUMENT


class OperatorNotAllowedInGraphError(TypeError):
    """Python asks for the value of a tensor while a `tf.function` is being traced."""


class NotDenseError(ValueError):
    """A function of dense tensors got a ragged or a sparse one."""


def invalid(op: str | None, text: str) -> InvalidArgumentError:
    """The error of an op, whose name stands at its end."""
    return InvalidArgumentError(None, None, f"{text} [Op:{op}]" if op else text)


class NotFoundError(OpError, LookupError):
    """A file or a variable in a checkpoint does not exist."""

    error_code = NOT_FOUND


class OutOfRangeError(OpError):
    """An iteration is over, or reads past an end."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """A combination of arguments that exists, and that nobody has written."""

    error_code = UNIMPLEMENTED


AbortedError = _error("AbortedError", ABORTED, "Something was stopped in the middle.")
AlreadyExistsError = _error("AlreadyExistsError", ALREADY_EXISTS, "What is to be made is there already.")
CancelledError = _error("CancelledError", CANCELLED, "Something was cancelled.")
DataLossError = _error("DataLossError", DATA_LOSS, "A file is damaged.")
DeadlineExceededError = _error("DeadlineExceededError", DEADLINE_EXCEEDED, "Something took too long.")
FailedPreconditionError = _error("FailedPreconditionError", FAILED_PRECONDITION, "Something was not ready.")
InternalError = _error("InternalError", INTERNAL, "Something that must not happen.")
PermissionDeniedError = _error("PermissionDeniedError", PERMISSION_DENIED, "Something is not allowed.")
ResourceExhaustedError = _error("ResourceExhaustedError", RESOURCE_EXHAUSTED, "Memory is used up.")
UnauthenticatedError = _error("UnauthenticatedError", UNAUTHENTICATED, "Nobody has logged in.")
UnavailableError = _error("UnavailableError", UNAVAILABLE, "A service is not there.")
UnknownError = _error("UnknownError", UNKNOWN, "Something else.")
