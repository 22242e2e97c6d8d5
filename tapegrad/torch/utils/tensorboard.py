"""`SummaryWriter`: event files that TensorBoard reads, written without TensorBoard."""

from __future__ import annotations

import os
import socket
import time
import warnings
from datetime import datetime
from typing import Any, NoReturn

from tapegrad.events import EventFile
from tapegrad.torch import _arrays, _summaries

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes numbers, histograms, pictures and text of a training to an event file in a directory.

    * `log_dir`: the directory; by default one in `runs/`, with a name of time, host and `comment`.
    * `purge_step`: where a run is taken up again: TensorBoard forgets what it has of this step and later ones.
    * `flush_secs`: how often what is buffered reaches the file; `max_queue` is taken and not needed.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._files: dict[str, EventFile] = {}
        self._file(self.log_dir)

    def _file(self, directory: str) -> EventFile:
        """The event file of a directory: this writer's own, or one of the runs below it."""
        if (found := self._files.get(directory)) is None:
            found = self._files[directory] = EventFile(directory, self.filename_suffix, flush_seconds=self.flush_secs)
            if self.purge_step is not None and directory == self.log_dir:
                found.start_again(self.purge_step)
        return found

    def _write(self, value: bytes, step: Any, seconds: float | None, directory: str | None = None) -> None:
        number = 0 if step is None else int(_summaries.array(step).reshape(()))
        self._file(directory or self.log_dir).write(number, value, seconds=seconds)

    def get_logdir(self) -> str:
        """The directory."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number."""
        value = _summaries.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._write(value, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write numbers that one chart shows; each has a run of its own below the directory."""
        walltime = time.time() if walltime is None else walltime
        place = os.path.join(self.log_dir, main_tag.replace("/", "_"))
        for tag, found in tag_scalar_dict.items():
            self._write(_summaries.scalar(main_tag, found), global_step, walltime, f"{place}_{tag}")

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write how values are spread; `bins` is "tensorflow", or what `numpy.histogram` takes."""
        self._write(_summaries.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write a histogram that is counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        numbers = (min, max, num, sum, sum_squares)
        self._write(_summaries.raw_histogram(tag, numbers, bucket_limits, bucket_counts), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write a picture: uint8, or floats from 0 to 1."""
        self._write(_summaries.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write pictures side by side as one."""
        if isinstance(img_tensor, list):
            img_tensor = _arrays.facade().stack([_arrays.facade().as_tensor(x) for x in img_tensor])
            dataformats = dataformats if "N" in dataformats else f"N{dataformats}"
        self._write(_summaries.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Write a figure of Matplotlib, or a list of them, as a picture; the figure is closed, unless `close` is false."""
        figures = figure if isinstance(figure, list) else [figure]
        pictures = [_summaries.drawn(f) for f in figures]
        if close:
            from matplotlib import pyplot

            for f in figures:
                pyplot.close(f)
        if isinstance(figure, list):
            self.add_images(tag, pictures, global_step, walltime)
        else:
            self.add_image(tag, pictures[0], global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Write text."""
        self._write(_summaries.text(tag, text_string), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Write what was tried, and how good it was, as a run of its own below the directory."""
        told = _summaries.hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete)
        place = os.path.join(self.log_dir, run_name or str(time.time()))
        for value in told:
            self._write(value, None, None, place)
        for name, found in metric_dict.items():
            self._write(_summaries.scalar(name, found), global_step, None, place)
        self._files.pop(place).close()

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Write nothing, with a warning: a model of tapegrad is run, never traced, so that there is no graph to draw."""
        warnings.warn(
            "SummaryWriter.add_graph: tapegrad runs models without tracing them, so there is no graph; nothing is written. "
            "print(model) shows the modules",
            stacklevel=2,
        )

    def flush(self) -> None:
        """Write out what is buffered."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Close the files; what is written later goes to new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name not in _UNWRITTEN:
            raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}", name=name, obj=self)

        def refused(*args: Any, **words: Any) -> NoReturn:
            raise NotImplementedError(f"SummaryWriter.{name}: tapegrad writes no {_UNWRITTEN[name]}; {_WRITTEN}")

        return refused


_UNWRITTEN = {
    "add_audio": "sound",
    "add_custom_scalars": "layouts of charts",
    "add_custom_scalars_marginchart": "layouts of charts",
    "add_custom_scalars_multilinechart": "layouts of charts",
    "add_embedding": "embeddings for TensorBoard's projector",
    "add_image_with_boxes": "boxes in pictures",
    "add_mesh": "meshes",
    "add_onnx_graph": "graphs",
    "add_pr_curve": "curves of precision and recall",
    "add_pr_curve_raw": "curves of precision and recall",
    "add_tensor": "plain tensors",
    "add_video": "films",
}
_WRITTEN = "it writes numbers, histograms, pictures, figures, text and hyperparameters"


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    refuse("torch.utils.tensorboard", name, __all__)
