"""Run independent jobs on all processors, and stop them cleanly.

Workers are started with `spawn`, so that they behave the same on every platform. They ignore Ctrl-C, which a terminal
sends to the whole process group: the parent handles it. They exit when the parent is gone, for whatever reason.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")


def run_jobs(
    work: Callable[[Job], Found], jobs: Sequence[Job], workers: int = 0
) -> Generator[tuple[Job, Found], None, None]:
    """Yield each job with its result, in order of completion; with one worker, in this process and in order."""
    workers = min(workers or processors(), len(jobs))
    if workers <= 1:
        for job in jobs:
            yield job, work(job)
        return
    executor = ProcessPoolExecutor(workers, get_context("spawn"), _begin)
    try:
        with _deaf_to_interrupts():
            waiting: dict[Future[Found], Job] = {executor.submit(work, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:  # also on an error, on Ctrl-C, and when the caller stops early
        executor.shutdown(wait=True, cancel_futures=True)


def processors() -> int:
    """Return the number of processors available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Make processes started in this block ignore Ctrl-C; the parent receives it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Set up a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
