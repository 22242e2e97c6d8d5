"""Programs written for PyTorch or TensorFlow, run on the facades: `python -m tapegrad run script.py`."""

from tapegrad.migrate.aliases import STYLES, aliased
from tapegrad.migrate.imports import ScriptError, style_of
from tapegrad.migrate.script import run_module, run_script

__all__ = ["STYLES", "ScriptError", "aliased", "run_module", "run_script", "style_of"]
