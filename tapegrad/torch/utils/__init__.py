"""What is around tensors and modules: `data`, `hooks`, `checkpoint`, `tensorboard`."""

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module, util

    if not name.startswith("_") and util.find_spec(f"tapegrad.torch.utils.{name}") is not None:
        return import_module(f"tapegrad.torch.utils.{name}")
    from tapegrad.torch._missing import refuse

    return refuse("torch.utils", name, ["checkpoint", "data", "hooks", "model_zoo", "tensorboard"])
