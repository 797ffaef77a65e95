"""`SummaryWriter`: what a program says about its training, written for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from typing import Any, NoReturn

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import summary

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes events into a file in a directory, from a thread of its own."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(os.fspath(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The directory."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Event, step: int | None = None, walltime: float | None = None) -> None:
        """Writes an event, now or at the given time in seconds."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, value: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Writes a summary as an event."""
        self.add_event(Event(summary=value), global_step, walltime)

    def flush(self) -> None:
        """Writes what is waiting."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what is waiting and closes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Opens the file again, after `close`."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes scalars, histograms, images, figures, texts and hyperparameters into `log_dir` for TensorBoard.

    Without `log_dir` the directory is runs/<date>_<host><comment>. `purge_step` lets TensorBoard forget what was
    written for this step and later ones before a crash. Works as a context manager.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = FileWriter(self.log_dir, *self._options)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:
                from tensorboard.compat.proto.event_pb2 import SessionLog

                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                start = Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START))
                self.file_writer.add_event(start, self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """The directory."""
        return self.log_dir

    # --- what is written --------------------------------------------------------------------------------------------
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Adds a number."""
        self._get_file_writer().add_summary(summary.scalar(tag, scalar_value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Adds several numbers to one plot, each in a directory of its own below this one."""
        self._get_file_writer()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            where = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            if where not in self.all_writers:
                self.all_writers[where] = FileWriter(where, *self._options)
            self.all_writers[where].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Adds the distribution of values."""
        self._get_file_writer().add_summary(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Adds an image: numbers from 0 to 1, or integers from 0 to 255."""
        self._get_file_writer().add_summary(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Adds a batch of images as one grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Adds a figure of matplotlib, or a list of them, and closes it unless told otherwise."""
        import numpy as np

        pictures = []
        for one in figure if isinstance(figure, list) else [figure]:
            from matplotlib.backends.backend_agg import FigureCanvasAgg

            canvas = FigureCanvasAgg(one)
            canvas.draw()
            pictures.append(np.asarray(canvas.buffer_rgba())[..., :3])
            if close:
                from matplotlib import pyplot

                pyplot.close(one)
        self.add_image(tag, np.stack(pictures), global_step, walltime, dataformats="NHWC")

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Adds a text in Markdown."""
        self._get_file_writer().add_summary(summary.text(tag, text_string), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Adds a whole tensor."""
        self._get_file_writer().add_summary(summary.tensor(tag, tensor), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Adds hyperparameters and the numbers that they led to, in a directory of their own: the numbers as scalars,
        all of it as a table in a text. The page HPARAMS of TensorBoard does not list them."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        where = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(where) as inner:
            inner.add_text("hparams", summary.hparams_as_text(hparam_dict, metric_dict), global_step)
            for name, value in metric_dict.items():
                inner.add_scalar(name, value, global_step)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> NoReturn:
        """Raises NotImplementedError: the graph that TensorBoard shows is one of TorchScript, which is not here."""
        raise NotImplementedError(
            "add_graph writes a TorchScript graph, which is not here; `print(torch.fx.symbolic_trace(model).graph)` "
            "shows a model's operations"
        )

    # --- files ------------------------------------------------------------------------------------------------------
    def flush(self) -> None:
        """Writes what is waiting."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes what is waiting and closes all files. Adding more opens a new one."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
