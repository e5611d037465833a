"""Independent jobs over all processors, which stop cleanly when we do.

Workers are started afresh (`spawn`), so that they behave alike on every platform. They ignore Ctrl-C, which reaches
the whole group on a terminal, from their first moment, and leave it to us; and they end when we are gone, however that
came about.
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
    """Each job with its result, as they come in; with one worker, here and in order."""
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
    finally:  # also on an error, on Ctrl-C, and when nobody wants the rest
        executor.shutdown(wait=True, cancel_futures=True)


def processors() -> int:
    """How many processors we may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """What is started meanwhile inherits that Ctrl-C does not reach it; we hear of it a little later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Set up a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
