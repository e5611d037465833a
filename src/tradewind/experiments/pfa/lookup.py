"""Look up results of a study, averaged over its repetitions and, by default, over both users."""

from collections.abc import Iterator
from statistics import fmean, pstdev

from tradewind.experiments.pfa.measure import ByKind, UserResult
from tradewind.experiments.pfa.run import Study
from tradewind.experiments.pfa.settings import PFAS, Setting, Variant


def users(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> Iterator[UserResult]:
    """Yield the result of each user in each repetition."""
    for result in study.results[setting, variant]:
        yield from result.users if user is None else (result.users[user],)


def pfas_in(study: Study, setting: Setting) -> list[Variant]:
    """Return the variants of PFA that ran in a setting."""
    return [variant for variant in PFAS if (setting, variant) in study.results]


def slowdowns(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> list[float]:
    """Return the slowdown of every workflow."""
    return [value for each in users(study, setting, variant, user) for value in each.slowdowns]


def mean_slowdown(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> float:
    """Return the mean slowdown of all workflows."""
    return fmean(slowdowns(study, setting, variant, user))


def slowdown_deviation(study: Study, setting: Setting, variant: Variant) -> float:
    """Return the standard deviation of the slowdowns."""
    return pstdev(slowdowns(study, setting, variant))


def mean_wait(study: Study, setting: Setting, variant: Variant) -> float:
    """Return the mean time from submission to the start of a workflow's first task, in seconds."""
    return fmean(value for each in users(study, setting, variant) for value in each.waits)


def elasticity(study: Study, setting: Setting, variant: Variant, user: int | None = None) -> dict[str, float]:
    """Return the mean of each elasticity metric."""
    rows = [each.elasticity for each in users(study, setting, variant, user)]
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


def total(by_kind: ByKind) -> list[float]:
    """Return the values of each interval, summed over machine types."""
    return [sum(row) for row in zip(*by_kind, strict=True)]


def mean_cost(study: Study, setting: Setting, variant: Variant) -> float:
    """Return the mean amount a user reserved per interval."""
    return fmean(value for each in users(study, setting, variant) for value in total(each.costs))


def mean_held(study: Study, setting: Setting, variant: Variant) -> float:
    """Return the mean number of machines that a user held."""
    return fmean(value for each in users(study, setting, variant) for value in total(each.held))


def mean_busy(study: Study, setting: Setting, variant: Variant) -> float:
    """Return the mean number of machines that were busy for a user."""
    return fmean(value for each in users(study, setting, variant) for value in total(each.busy))


def mean_makespan(study: Study, setting: Setting, variant: Variant) -> float:
    """Return the mean time until all work had finished, in seconds."""
    return fmean(result.makespan for result in study.results[setting, variant])
