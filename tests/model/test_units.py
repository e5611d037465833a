"""Time, money and sizes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.units import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    UNIT,
    in_seconds,
    in_units,
    money,
    parse_duration,
    parse_money,
    parse_price,
    parse_size,
    seconds,
    show_duration,
    show_money,
    show_size,
)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        (90, 90 * SECOND),
        (0.5, SECOND // 2),
        ("90", 90 * SECOND),
        ("90s", 90 * SECOND),
        ("1.5h", 90 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("1 h 30 min", 90 * MINUTE),
        ("2d", 2 * DAY),
        ("250ms", SECOND // 4),
        ("7us", 7),
        ("1e3", 1000 * SECOND),
        ("0", 0),
    ],
)
def test_reads_durations(text: str | float, duration: int) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "h", "5x", "-5s", -5, "1h-", "soon", "1e30", "1..2", "..s", float("inf")])
def test_refuses_what_is_no_duration(text: str | float) -> None:
    with pytest.raises(ValueError, match=r"duration|unit of time|negative|too large"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("1.5GB", 1_500_000_000),
        ("512MiB", 512 * 1024**2),
        ("2K", 2000),
        ("1Ki", 1024),
        ("3 B", 3),
    ],
)
def test_reads_sizes(text: str | float, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "1XB", "-1", -1, "1e40", "1.2.3"])
def test_refuses_what_is_no_size(text: str | float) -> None:
    with pytest.raises(ValueError, match=r"size|negative|too large"):
        parse_size(text)


def test_reads_money_and_prices() -> None:
    assert parse_money("12.50") == money(12.5) == 12_500_000
    assert parse_price(5, HOUR) == 5 * UNIT
    assert parse_price("0.6/h", MINUTE) == UNIT // 100
    assert parse_price("1/10m", HOUR) == 6 * UNIT


@pytest.mark.parametrize("text", ["five", "1/", "1/0s", "/h", "-1", "1/x"])
def test_refuses_what_is_no_price(text: str) -> None:
    with pytest.raises(ValueError, match=r"price|negative|unit of time|duration"):
        parse_price(text, HOUR)


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        (0, "0ms"),
        (1_500, "1.5ms"),
        (77_151, "77ms"),
        (686_560, "687ms"),
        (4_200_000, "4.2s"),
        (200 * SECOND, "3m20s"),
        (HOUR - 1, "1h00m"),
        (5 * HOUR + 2 * MINUTE, "5h02m"),
        (51 * HOUR, "2d03h"),
        (-4 * SECOND, "-4s"),
    ],
)
def test_shows_durations(duration: int, shown: str) -> None:
    assert show_duration(duration) == shown


def test_shows_money_without_needless_digits() -> None:
    assert [show_money(amount) for amount in (12 * UNIT, 12_500_000, 123, 0)] == ["12", "12.5", "0.000123", "0"]


@given(st.integers(0, 10**15))
def test_seconds_and_units_come_back_the_same(count: int) -> None:
    assert seconds(in_seconds(count)) == count
    assert money(in_units(count)) == count
    assert parse_duration(in_seconds(count)) == count


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0B"),
        (999, "999B"),
        (8_000_000_000, "8GB"),
        (1_500_000_000, "1.5GB"),
        (100_000_000, "100MB"),
        (10**15, "1PB"),
    ],
)
def test_shows_sizes(size: int, shown: str) -> None:
    assert show_size(size) == shown
    assert parse_size(shown) == size
