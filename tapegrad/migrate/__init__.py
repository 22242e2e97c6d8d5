"""Running scripts that were written for PyTorch or TensorFlow: their imports find tapegrad's facades."""

from tapegrad.migrate.aliases import STYLES, aliased
from tapegrad.migrate.script import ScriptError, run_script, style_of

__all__ = ["STYLES", "ScriptError", "aliased", "run_script", "style_of"]
