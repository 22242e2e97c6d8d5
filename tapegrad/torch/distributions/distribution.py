"""What every distribution has: shapes, samples, and checks of parameters and values."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.utils import lazy_property, torch

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them, from which tensors are drawn.

    A subclass says in `arg_constraints` which values its parameters may have, in `support` which its samples have, and
    in `event_dims` how many of a parameter's axes belong to one event, where there are any.
    """

    has_rsample = False
    has_enumerate_support = False
    event_dims: ClassVar[dict[str, int]] = {}
    arg_constraints: ClassVar[Any] = {}
    support: Any = None
    _validate_args = __debug__

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # a class may have others beside it

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or name not in self.__dict__:
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Check, or do not, where an object does not say it."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    # -- shapes ------------------------------------------------------------------------------------------
    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, in a larger batch."""
        new = self._begun(_instance)
        batch = Size(batch_shape)
        for name in self._given():
            value = self.__dict__[name]
            events = self.event_dims.get(name, 0)
            new.__dict__[name] = value.expand((*batch, *value.shape[value.dim() - events :]))
        new._batch_shape = batch
        return new

    def _begun(self, instance: Any) -> Any:
        """What an expanded distribution starts from: this one's class, or what a subclass has made, and all that was not computed."""
        new = object.__new__(type(self)) if instance is None else instance
        given = self._given()
        cached = [name for name in self.__dict__ if isinstance(getattr(type(self), name, None), lazy_property)]
        new.__dict__.update({k: v for k, v in self.__dict__.items() if k not in cached or k in given})
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """What the `expand` of a class of this name fills; refused for a subclass that is made otherwise and says not how it expands."""
        own: Any = type(self)
        if _instance is None and own.__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    def _given(self) -> list[str]:
        """The names of the parameters that were given, not computed."""
        return [name for name in self.arg_constraints if name in self.__dict__]

    # -- what a subclass may have ------------------------------------------------------------------------
    @property
    def mean(self) -> Any:
        """The mean."""
        self._lacks("mean")

    @property
    def mode(self) -> Any:
        """The most probable value."""
        self._lacks("mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        self._lacks("variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples through which gradients flow to the parameters."""
        self._lacks("rsample")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or the probability, of a value."""
        self._lacks("log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of what is not above a value."""
        self._lacks("cdf")

    def icdf(self, value: Any) -> Any:
        """The value below which a sample is with a given probability."""
        self._lacks("icdf")

    def entropy(self) -> Any:
        """The entropy in nats."""
        self._lacks("entropy")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that a discrete distribution can have."""
        self._lacks("enumerate_support")

    def _lacks(self, name: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} has no {name}")

    # -- what follows from it ----------------------------------------------------------------------------
    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples that have no history."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Any:
        """`n` samples, or batches of samples."""
        return self.sample((n,))

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _validate_sample(self, value: Any) -> None:
        if not hasattr(value, "requires_grad"):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = len(self._event_shape)
        if value.dim() < event or tuple(value.shape[value.dim() - event :]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        batch = (*self._batch_shape, *self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(batch), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(batch)}."
                )
        support = self.support
        if support is not None and not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _check(self, value: Any) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        shown = [(name, self.__dict__[name]) for name in self._given()]
        return f"{type(self).__name__}({', '.join(f'{k}: {_shown(v)}' for k, v in shown)})"


def _shown(x: Any) -> Any:
    return x if x.numel() == 1 else x.size()
