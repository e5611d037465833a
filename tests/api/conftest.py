"""Where the tests of the Python API find their tasks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
