"""Settings for all tests: Hypothesis profiles, and where shared test code is found."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "core"))  # `audit` and `worlds` serve the simulator's tests too
sys.path.insert(0, str(Path(__file__).parent / "client"))  # `fake_server` serves those of the command line too

os.environ.setdefault("TRADEWIND_MACHINES__OUTLIVE", "false")  # servers that tests start leave nothing behind

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("ci", deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW)
settings.register_profile("explore", deadline=None, max_examples=2_000, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
