"""Ways in which conversions of modules may treat parameters, which scripts choose ahead of a change of the default."""

from __future__ import annotations

_CHOSEN = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Say whether a conversion of a module gives it new parameters, where it would change those that it has."""
    _CHOSEN["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether a conversion of a module gives it new parameters."""
    return _CHOSEN["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Say whether parameters keep who they are while what they hold is exchanged: here they always do."""
    _CHOSEN["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """What was said by `set_swap_module_params_on_conversion`."""
    return _CHOSEN["swap"]
