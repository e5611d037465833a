"""Convert native scenario files, and the files they refer to, into the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.formats.complaints import check
from tradewind.formats.documents import (
    ArrivalsPart,
    EstimatesPart,
    GeneratedPart,
    GivenPart,
    NoisePart,
    PolicyPart,
    RolePart,
    ScenarioDocument,
    ServersPart,
)
from tradewind.formats.errors import FormatError, Place, Problems, did_you_mean, quoted
from tradewind.formats.native import machine_types
from tradewind.formats.tree import Tree
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Arrivals, Estimates, Faults, Generated, Given, Noise, Scenario, Servers
from tradewind.model.tenant import Tenant
from tradewind.model.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Loaders for the files that a scenario refers to."""

    workflow: Callable[[Path, Sequence[MachineType]], Workflow]
    """Loads a workflow that some of these machine types can run."""
    machines: Callable[[Path], tuple[MachineType, ...]]


def scenario_from(tree: Tree, neighbours: Neighbours) -> Scenario:
    """Return the scenario in a native file, with all files it refers to loaded."""
    document = check(ScenarioDocument, tree)
    problems = tree.problems()
    folder = Path(tree.file).parent
    machines = _machines(document, folder, neighbours, problems)
    tenants = tuple(Tenant(name, part.budget, part.interval, part.weight) for name, part in document.tenants.items())
    names = tuple(tenant.name for tenant in tenants)
    for type in machines:
        _check_tenants(("machines", type.name, "joins"), type.tenants, names, problems)
    workload: list[Given | Generated] = []
    for at, part in enumerate(document.workload):
        place: Place = ("workload", at)
        _check_tenants(place, part.tenants, names, problems)
        served = tuple(part.tenants) or names
        arrivals = _arrivals(part.arrivals, folder)
        if isinstance(part, GeneratedPart):
            workload.append(Generated(part.generate, part.count, part.tasks, arrivals, served, part.priorities))
        else:
            workflows = _workflows(place, part, folder, neighbours, machines, problems)
            workload.append(Given(workflows, arrivals, served))
    problems.settle()
    policy, parameters = _policy(document.policy)
    faults = document.faults
    return Scenario(
        workload=tuple(workload),
        machines=machines,
        tenants=tenants,
        policy=policy,
        parameters=parameters,
        interval=document.interval,
        seed=document.seed,
        faults=Faults(faults.task_failure, faults.machine_loss, faults.boot_failure),
        noise=_noise(document.noise),
        estimates=_estimates(document.estimates),
        servers=_servers(document.servers, folder),
        chains=document.chains,
    )


def _machines(
    document: ScenarioDocument, folder: Path, neighbours: Neighbours, problems: Problems
) -> tuple[MachineType, ...]:
    if not isinstance(document.machines, str):
        return machine_types(document.machines, problems)
    return neighbours.machines(folder / document.machines)


def _workflows(
    place: Place,
    part: GivenPart,
    folder: Path,
    neighbours: Neighbours,
    machines: Sequence[MachineType],
    problems: Problems,
) -> tuple[Workflow, ...]:
    files = [*([part.file] if part.file else []), *part.files]
    if not files:
        problems.add(place, "names neither a file nor a family to generate", "add file:, files: or generate:")
    found: dict[str, Workflow] = {}
    for file in files:
        if file not in found:
            try:
                found[file] = neighbours.workflow(folder / file, machines)
            except FormatError as error:
                if error.line is not None or error.reason != "no such file":
                    raise
                problems.add(place, f"no file {quoted(str(folder / file))}")
    return tuple(found[file] for file in files if file in found)


def _check_tenants(place: Place, asked: Sequence[str], known: Sequence[str], problems: Problems) -> None:
    for tenant in asked:
        if tenant not in known:
            problems.add((*place, "tenants"), f"no tenant named {quoted(tenant)}", did_you_mean(tenant, known))


def _arrivals(part: ArrivalsPart, folder: Path) -> Arrivals:
    """Return arrivals with their parameters; like all paths, that of a trace is relative to the scenario."""
    parameters = dict(part.model_extra or {})
    if isinstance(parameters.get("file"), str):
        parameters["file"] = str(folder / parameters["file"])
    return Arrivals(part.process, parameters)


def _servers(part: ServersPart | None, folder: Path) -> Servers | None:
    if part is None:
        return None
    file = str(folder / part.file) if part.file else ""
    return Servers(part.cluster, file, part.count, part.length, part.placement)


def _policy(part: str | PolicyPart) -> tuple[str, dict[str, Any]]:
    """Return the name and parameters of a policy; roles from other policies are among the parameters."""
    if isinstance(part, str):
        return part, {}
    parameters = dict(part.model_extra or {})
    if isinstance(part.placer, RolePart):
        parameters["placer"] = part.placer.name
        parameters |= {f"placer.{key}": value for key, value in (part.placer.model_extra or {}).items()}
    elif part.placer:
        parameters["placer"] = part.placer
    if part.balancer:
        parameters["balancer"] = part.balancer
    return part.scaler or part.name, parameters


def _noise(part: float | NoisePart) -> Noise:
    return Noise(part.deviation if isinstance(part, NoisePart) else part)


def _estimates(part: str | EstimatesPart) -> Estimates:
    return Estimates(part) if isinstance(part, str) else Estimates(part.kind, part.deviation, part.quantile)
