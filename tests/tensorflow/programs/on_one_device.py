"""Three logical CPUs, on the second of which programs run that have to stay there.

TensorFlow refuses to copy anything but int32 numbers (shapes and axes, which it keeps on the host by itself), whatever is
made is looked at, and fetching a value can be made an error.  To be imported before anything that makes tensors.
"""

# ruff: noqa: E402  devices are configured before anything is imported that makes tensors
import warnings

import tensorflow as tf

CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 3)

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray
from tapegrad.registry.backends import tensorflow

ON = "CPU:1"
AWAY = []
#: Whether single numbers may be fetched, on which it depends what is computed next.
DECIDES = [False]
_fast, _array = calls.fast, TFArray.__array__


def _seen(found, name):
    AWAY.extend(
        f"{name} gave {t.dtype.name} {tuple(t.shape)} on {t.backing_device[-5:]}"
        for t in (found if isinstance(found, list | tuple) else [found])
        if isinstance(t, calls.EAGER) and t.dtype != tf.int32 and not t.backing_device.endswith(ON)
    )
    return found


def _fetched(self, *args, **words):
    if DECIDES[0] and not self.shape:
        return _array(self, *args, **words)
    raise AssertionError(f"a value of shape {self.shape} is fetched from the device")


def refuse_to_fetch():
    """From now on, fetching a value is an error."""
    TFArray.__array__ = _fetched


def allow_to_fetch():
    """From now on, it is none."""
    TFArray.__array__ = _array


warnings.simplefilter("ignore")
tensorflow()
tf.config.experimental.set_device_policy("silent_for_int32")
calls.fast = lambda context, name, *rest: _seen(_fast(context, name, *rest), name)
