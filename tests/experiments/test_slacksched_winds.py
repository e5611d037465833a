"""Wind that drives capacity, measured or made up."""

from pathlib import Path

import pytest

from tradewind.experiments.slacksched import winds
from tradewind.model.units import DAY, HOUR
from tradewind.sim.traces.power import wind


def test_wind_is_measured_where_it_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winds, "MEASURED", tmp_path / "none.csv")
    assert winds.power_for(DAY, 1) == wind(DAY, 1)
    series = tmp_path / "wind.csv"
    levels = [400 + 100 * (hour % 3) if hour < 200 else hour % 2 for hour in range(400)]
    series.write_text("offshore_mw\n" + "".join(f"{level}\n" for level in levels))
    monkeypatch.setattr(winds, "MEASURED", series)
    found = winds.power_for(DAY + HOUR // 2, 1)
    assert max(found.values) == 1_000
    assert min(found.values) == pytest.approx(667, abs=1)
    assert found.times[1] == HOUR // 4
    assert found == winds.power_for(DAY + HOUR // 2, 1)
