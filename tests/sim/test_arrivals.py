import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.model.scenario import Arrivals
from tradewind.model.units import HOUR, MINUTE, SECOND, Duration, Time
from tradewind.sim.arrivals import PROCESSES, arrive

PACED: dict[str, dict[str, Any]] = {
    "stable": {},
    "poisson": {},
    "growing": {"factor": 3},
    "cyclic": {"period": "10m", "amplitude": 0.9},
    "on-off": {"on": "2m", "off": "3m"},
}
ALL: dict[str, dict[str, Any]] = {
    **{process: parameters | {"every": "10s"} for process, parameters in PACED.items()},
    "at-once": {"at": "5s"},
    "trace": {"times": [*range(300, 0, -1)]},
}


def times(process: str, count: int = 2000, seed: int = 1, work: Duration = HOUR, **parameters: Any) -> list[Time]:
    return arrive(Arrivals(process, parameters), count, work, random.Random(seed))


def test_every_process_is_tried_here() -> None:
    assert ALL.keys() == PROCESSES.keys()


@settings(deadline=None)
@given(process=st.sampled_from(sorted(ALL)), count=st.integers(0, 300), seed=st.integers(0, 10**6))
def test_times_are_whole_sorted_not_negative_and_follow_from_the_seed(process: str, count: int, seed: int) -> None:
    made = times(process, count, seed, **ALL[process])
    assert len(made) == count
    assert made == sorted(made)
    assert all(isinstance(time, int) and time >= 0 for time in made)
    assert made == times(process, count, seed, **ALL[process])


@pytest.mark.parametrize("process", PACED)
@pytest.mark.parametrize(
    "density", [{"every": 10}, {"every": "10s"}, {"rate": 0.1}, {"rate": "6/min"}, {"rate": "360/h"}, {"rate": "1/10s"}]
)
def test_mean_density_is_as_asked_however_it_is_said(process: str, density: dict[str, Any]) -> None:
    last = times(process, **density, **PACED[process])[-1]
    assert last / 2000 == pytest.approx(10 * SECOND, rel=0.06)


@pytest.mark.parametrize("process", PACED)
def test_imposed_utilisation_follows_from_the_mean_work(process: str) -> None:
    work = 460 * SECOND
    last = times(process, work=work, utilisation=0.2, machines=64, **PACED[process])[-1]
    assert 2000 * work / (64 * last) == pytest.approx(0.2, rel=0.06)


def test_stable_arrivals_are_evenly_spaced() -> None:
    assert times("stable", 4, every="90s") == [0, 90 * SECOND, 180 * SECOND, 270 * SECOND]


def test_poisson_gaps_are_exponential() -> None:
    gaps = [after - before for before, after in pairwise(times("poisson", 20_000, every="10s"))]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation / mean == pytest.approx(1, abs=0.03)
    assert sum(gap > mean for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.02)


def test_growing_arrivals_get_denser_by_the_factor() -> None:
    made = times("growing", 20_000, every="1s", factor=4)
    tenth = made[-1] / 10
    first = sum(time < tenth for time in made)
    last = sum(time >= 9 * tenth for time in made)
    assert last / first == pytest.approx((4 - 0.15) / (1 + 0.15), rel=0.1)


def test_cyclic_arrivals_crowd_in_the_first_half_of_each_period() -> None:
    made = times("cyclic", 20_000, every="1s", period="10m", amplitude=0.8)
    early = sum(time % (10 * MINUTE) < 5 * MINUTE for time in made) / len(made)
    assert early == pytest.approx(0.5 + 0.8 / 3.14159, abs=0.02)


def test_on_off_arrivals_pause() -> None:
    made = times("on-off", 5000, every="1s", on="2m", off="3m")
    assert all(time % (5 * MINUTE) <= 2 * MINUTE for time in made)
    assert len({time // (5 * MINUTE) for time in made}) > 10


def test_a_trace_gives_its_first_times(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("submitted,who\n3,a\n1.5,b\n\n1m,c\n")
    assert times("trace", 2, file=str(file)) == [1_500_000, 3 * SECOND]
    assert times("trace", 3, times=["1m", 2, 3.5]) == [2 * SECOND, 3_500_000, MINUTE]


def test_at_once_is_at_once() -> None:
    assert times("at-once", 3) == [0, 0, 0]
    assert times("at-once", 2, at="1h") == [HOUR, HOUR]


@pytest.mark.parametrize(
    ("process", "parameters", "message"),
    [
        ("poison", {}, "no arrival process is named 'poison'; did you mean 'poisson'?"),
        ("xyz", {}, "use at-once, stable, poisson"),
        (
            "poisson",
            {"utilization": 1},
            "arrivals 'poisson' take no parameter 'utilization'; did you mean 'utilisation'",
        ),
        ("poisson", {}, "arrivals 'poisson': give one of every, rate, or utilisation with machines, not none of them"),
        ("stable", {"every": 1, "rate": 2}, "not every and rate"),
        ("poisson", {"utilisation": 0.2}, "machines is missing"),
        ("poisson", {"utilisation": 0, "machines": 3}, "utilisation must be a number above zero, not 0"),
        ("poisson", {"utilisation": 0.2, "machines": True}, "machines must be a number above zero, not True"),
        ("poisson", {"every": "soon"}, "'soon' is not a duration"),
        ("poisson", {"every": None}, "every must be a time such as"),
        ("poisson", {"every": 0}, "every must be more than zero"),
        ("poisson", {"every": -1}, "-1 is negative"),
        ("poisson", {"rate": "fast"}, "'fast' is not a rate such as 12/h"),
        ("poisson", {"rate": "2/0s"}, "'2/0s' is not a rate such as 12/h"),
        ("poisson", {"rate": 0}, "rate must be more than zero"),
        ("growing", {"every": 1, "factor": 1}, "factor must be more than 1"),
        ("cyclic", {"every": 1}, "period is missing"),
        ("cyclic", {"every": 1, "period": 9, "amplitude": 1.5}, "amplitude must be at most 1, not 1.5"),
        ("on-off", {"every": 1, "on": "1m"}, "off is missing"),
        ("trace", {}, "give either times or file"),
        ("trace", {"times": 3}, "times must be a list, not 3"),
        ("trace", {"times": [1, [2]]}, "times must be a time such as"),
        ("trace", {"times": [1]}, "the trace has 1 times for 2 workflows"),
        ("trace", {"file": "no/such.csv"}, "such.csv: No such file"),
    ],
)
def test_mistakes_are_named(process: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        times(process, 2, **parameters)
    assert message in str(caught.value)


def test_utilisation_needs_work_and_bad_traces_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs workflows with declared run times"):
        times("poisson", 2, work=0, utilisation=0.2, machines=3)
    file = tmp_path / "trace.csv"
    file.write_text("1\n2\nthree\n")
    with pytest.raises(ValueError, match=r"trace.csv:3: 'three' is not a duration"):
        times("trace", 2, file=str(file))
