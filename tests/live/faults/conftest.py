"""What the tests of the store and of the engines have to lend: a PostgreSQL server, and a rig."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / each) for each in ("store", "engines")]
