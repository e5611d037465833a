import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tradewind.experiments.claims import Claim, Report, not_judged, print_report, write_report
from tradewind.experiments.request import Request
from tradewind.experiments.tascaas import reproduce as tascaas
from tradewind.model.errors import TradewindError

REPORT = Report(
    "pfa",
    7,
    [
        Claim("1", "it is [fast]", "3x", "2x", holds=False, note="the clock"),
        Claim("2", "it ends", "yes", "yes", holds=True),
    ],
    ["One more thing."],
)


def test_a_report_is_plain_json(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "claims.json"
    write_report(REPORT, file)
    assert json.loads(file.read_text()) == {
        "paper": "pfa",
        "seed": 7,
        "claims": [
            {"id": "1", "claim": "it is [fast]", "paper": "3x", "ours": "2x", "holds": False, "note": "the clock"},
            {"id": "2", "claim": "it ends", "paper": "yes", "ours": "yes", "holds": True, "note": ""},
        ],
        "notes": ["One more thing."],
    }


@pytest.mark.parametrize("width", [60, 150])
def test_a_report_is_readable_at_any_width(width: int) -> None:
    out = StringIO()
    print_report(REPORT, Console(file=out, width=width))
    text = out.getvalue()
    for part in ("it is [fast]", "the clock", "1 of 2 claims hold.", "One more thing."):
        assert part in text
    assert max(map(len, text.splitlines())) <= width


def test_what_a_quick_run_cannot_judge_has_no_verdict() -> None:
    claims = not_judged(REPORT.claims, ("1",))
    assert [claim.holds for claim in claims] == [None, True]
    out = StringIO()
    print_report(Report("pfa", 7, claims), Console(file=out, width=150))
    assert "not judged" in out.getvalue()
    assert "1 of 1 claims hold." in out.getvalue()
    assert "Not judged with --quick: 1;" in out.getvalue()


def test_an_extra_that_is_missing_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tascaas, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(TradewindError, match=r"another package \(uvicorn\); pip install 'tradewind\[server\]'"):
        tascaas.reproduce(Request(tmp_path))
