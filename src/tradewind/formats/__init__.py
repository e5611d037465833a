"""Read and write files: native YAML and JSON, WfFormat, DAX and Steep workflows."""

from tradewind.formats.errors import FormatError, FormatErrors
from tradewind.formats.feasible import check_feasible
from tradewind.formats.load import Document, load, load_machines, load_program, load_scenario, load_workflow

__all__ = [
    "Document",
    "FormatError",
    "FormatErrors",
    "check_feasible",
    "load",
    "load_machines",
    "load_program",
    "load_scenario",
    "load_workflow",
]
