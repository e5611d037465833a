"""Figures that sum up a measured run, as plain values for tables and files."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from tradewind.core.metrics import Meter, RunMeter, TenantMeter
from tradewind.core.steps import Level
from tradewind.model.units import SECOND, Time, in_seconds, in_units


def summarise(meter: Meter) -> dict[str, Any]:
    """The figures of a run as a whole, with those of each tenant under `tenants`."""
    end = meter.end
    runs = meter.runs
    intervals = [meter_.per_interval(end, meter.begin) for meter_ in meter.tenants]
    longest = max(map(len, intervals), default=0)
    together = [sum(row[index] for row in intervals if index < len(row)) for index in range(longest)]
    gaps = [meter_.gap for meter_ in meter.tenants]
    for gap in gaps:
        gap.close(end)
    elasticity = [gap.elasticity(meter.size) for gap in gaps]
    return {
        "workflows": len(runs),
        "tasks": sum(run.tasks for run in runs),
        "unfinished_workflows": sum(run.status == "running" for run in runs),
        "failed_workflows": sum(run.status == "failed" for run in runs),
        "refused_workflows": len(meter.refused),
        "makespan_s": in_seconds(end - meter.begin) if _have_ended(runs) and _is_any_done(runs) else None,
        "cost_total": in_units(sum(t.charged - t.refunded for t in meter.tenants)),
        "cost_per_interval": _money(together),
        "intervals_over_budget": sum(
            _over_budget(t, meter.begin, row) for t, row in zip(meter.tenants, intervals, strict=True)
        ),
        "slowdown": _slowdown(runs),
        "waiting_s": {"mean": _mean_waiting(runs)},
        "elasticity": {key: fmean(row[key] for row in elasticity) for key in ("a_u", "a_o", "t_u", "t_o")},
        "busy_share": _share(meter, [level for t in meter.tenants for level in t.busy]),
        "allocated_share": _share(meter, [level for t in meter.tenants for level in t.allocated]),
        "attempts": meter.attempts,
        "failures": meter.failures,
        "lost_attempts": meter.lost,
        "preempted_attempts": meter.preempted,
        "cuts": meter.cuts,
        "deadline_misses": sum(_is_late(run) for run in runs),
        "events": meter.records,
        "tenants": {
            t.tenant.name: _tenant(meter, index, t, elasticity[index]) for index, t in enumerate(meter.tenants)
        },
    }


def _tenant(meter: Meter, index: int, tenant: TenantMeter, elasticity: dict[str, float]) -> dict[str, Any]:
    end = meter.end
    runs = [run for run in meter.runs if run.tenant == index]
    intervals = tenant.per_interval(end, meter.begin)
    return {
        "workflows": len(runs),
        "budget": None if tenant.tenant.budget is None else in_units(tenant.tenant.budget),
        "cost_total": in_units(tenant.charged - tenant.refunded),
        "cost_per_interval": _money(intervals),
        "intervals_over_budget": _over_budget(tenant, meter.begin, intervals),
        "slowdown": _slowdown(runs),
        "waiting_s": {"mean": _mean_waiting(runs)},
        "elasticity": elasticity,
        "busy_share": _share(meter, tenant.busy),
        "allocated_share": _share(meter, tenant.allocated),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of the ordered values lies, between neighbours by their distance."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _have_ended(runs: Sequence[RunMeter]) -> bool:
    """Whether there are runs, and none that is still under way: only then do times of all of them mean anything."""
    return bool(runs) and all(run.ended is not None for run in runs)


def _is_any_done(runs: Sequence[RunMeter]) -> bool:
    """Whether any run ended well; one that fails early would otherwise look fast."""
    return any(run.status == "done" for run in runs)


def _slowdown(runs: Sequence[RunMeter]) -> dict[str, float | None]:
    """Of runs that ended well; None where there are none, or where some never ended."""
    values = sorted(run.slowdown for run in runs if run.status == "done") if _have_ended(runs) else []
    if not values:
        return dict.fromkeys(("mean", "median", "p95"))
    return {"mean": fmean(values), "median": percentile(values, 0.5), "p95": percentile(values, 0.95)}


def _money(intervals: Sequence[int]) -> dict[str, float]:
    return {
        "mean": in_units(round(fmean(intervals))) if intervals else 0.0,
        "max": in_units(max(intervals, default=0)),
    }


def _over_budget(tenant: TenantMeter, begin: Time, intervals: Sequence[int]) -> int:
    first = begin // tenant.tenant.interval
    budgets = (tenant.budget_in(first + place) for place in range(len(intervals)))
    return sum(budget is not None and spent > budget for spent, budget in zip(intervals, budgets, strict=True))


def _mean_waiting(runs: Sequence[RunMeter]) -> float | None:
    return fmean(run.waiting for run in runs) / SECOND if _have_ended(runs) else None


def _share(meter: Meter, levels: Sequence[Level]) -> float:
    """How much of all there is was in use, up to the end, or to the last change where machines outlive the work."""
    last = max([meter.end, *(level.since for tenant in meter.tenants for level in tenant.allocated)])
    time = last - meter.begin
    return sum(level.until(last) for level in levels) / (time * meter.size) if time and meter.size else 0.0


def _is_late(run: RunMeter) -> bool:
    return run.deadline is not None and run.ended is not None and run.ended > run.deadline
