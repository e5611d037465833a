"""Figures of a study, taken over its repetitions and, unless one is asked for, over both users."""

from collections.abc import Iterator
from statistics import fmean, pstdev

from tradewind.experiments.pfa.measure import ByKind, UserResult
from tradewind.experiments.pfa.run import Study
from tradewind.experiments.pfa.settings import PFAS, Setting, Variant


def users(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> Iterator[UserResult]:
    """What each user saw in each repetition."""
    for result in study.results[setting, variant]:
        yield from result.users if user is None else (result.users[user],)


def pfas_in(study: Study, setting: Setting) -> list[Variant]:
    """The variants of PFA that ran in a setting."""
    return [variant for variant in PFAS if (setting, variant) in study.results]


def slowdowns(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> list[float]:
    """The slowdown of every workflow."""
    return [value for each in users(study, setting, variant, user) for value in each.slowdowns]


def mean_slowdown(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> float:
    """The mean slowdown over all workflows."""
    return fmean(slowdowns(study, setting, variant, user))


def slowdown_deviation(study: Study, setting: Setting, variant: Variant) -> float:
    """The standard deviation of slowdowns."""
    return pstdev(slowdowns(study, setting, variant))


def mean_wait(study: Study, setting: Setting, variant: Variant) -> float:
    """Seconds from submission to the start of a workflow's first task, on average."""
    return fmean(value for each in users(study, setting, variant) for value in each.waits)


def elasticity(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> dict[str, float]:
    """The mean of each elasticity metric."""
    rows = [each.elasticity for each in users(study, setting, variant, user)]
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


def total(by_kind: ByKind) -> list[float]:
    """Values of each interval, added over machine types."""
    return [sum(row) for row in zip(*by_kind, strict=True)]


def mean_cost(study: Study, setting: Setting, variant: Variant) -> float:
    """What a user reserved in an interval, on average."""
    return fmean(value for each in users(study, setting, variant) for value in total(each.costs))


def mean_held(study: Study, setting: Setting, variant: Variant) -> float:
    """Machines that a user held, on average."""
    return fmean(value for each in users(study, setting, variant) for value in total(each.held))


def mean_busy(study: Study, setting: Setting, variant: Variant) -> float:
    """Machines at work for a user, on average."""
    return fmean(value for each in users(study, setting, variant) for value in total(each.busy))


def mean_makespan(study: Study, setting: Setting, variant: Variant) -> float:
    """Seconds until all work had ended, on average."""
    return fmean(result.makespan for result in study.results[setting, variant])
