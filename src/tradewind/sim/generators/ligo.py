"""LIGO Inspiral: the search for gravitational waves from pairs of stars.

Template banks are matched against stretches of data (Inspiral), coincidences of several detectors are kept (Thinca),
and both steps are done once more with the triggers that survived (TrigBank, Inspiral, Thinca). Structure and figures:
Bharathi et al. 2008 and Juve et al. 2013; deviations and limits are those of the well-known published instances of 30
to 1,000 tasks. As there, larger workflows consist of groups of very different size, with one Thinca of each stage per
group; a few neighbouring groups share some of their first matches, the others are independent.
"""

import math
import random
from dataclasses import dataclass
from itertools import pairwise

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Normal, Uniform

TEMPLATE_BANK = Normal(18.155, 0.424, 16.66, 19.63)
INSPIRAL = Uniform(230.2, 690.3)
THINCA = Normal(5.37, 0.24, 4.34, 6.1)
TRIGGER_BANK = Normal(5.114, 0.324, 3.99, 6.39)

CALIBRATION = File("calibration.gwf", 9_318_254)
INJECTIONS = File("injections.xml", 2_421_420)
FRAME_SIZE = Normal(31_200_000, 27_000, 31_065_000, 31_300_000)
BANK_SIZE = Normal(986_500, 18_900, 935_350, 1_036_500)
MATCHES_SIZE = Uniform(156_700, 469_000)
COINCIDENCES_SIZE = Uniform(17_000, 50_400)
TRIGGERS_SIZE = Uniform(6_420, 19_130)

GROUP_SIZES = (5, 35)
"""Mean numbers of matches per group in the published instances."""
SHARED = 0.16
"""Maximum fraction of first matches that a second group reads."""
LINKED = 0.4
"""Fraction of first matches in groups that are linked with another."""


@dataclass(frozen=True, slots=True)
class _Shape:
    own: list[int]
    """For each group, its number of template banks."""
    shared: int
    """Number of first matches that a second group reads, too."""


def ligo(tasks: int, rng: random.Random) -> Workflow:
    """Return a LIGO Inspiral workflow of about this many tasks (at least 6): at most two more or fewer."""
    draft = Draft("ligo", tasks, smallest=6)
    shape = _shape(tasks, rng)
    frames: list[list[File]] = []
    matches: list[list[File]] = []
    number = 0
    for own in shape.own:
        frames.append([])
        matches.append([])
        for _ in range(own):
            number += 1
            frame = File(f"frames_{number:05d}.gwf", round(FRAME_SIZE.draw(rng)))
            bank = draft.add(
                "TmpltBank",
                TEMPLATE_BANK.draw(rng),
                (CALIBRATION, frame),
                File(f"templates_{number:05d}.xml", round(BANK_SIZE.draw(rng))),
            )
            frames[-1].append(frame)
            matches[-1].append(_match(draft, bank, frame, f"matches_{number:05d}.xml", rng))
    for group, other, place in _links(shape, rng):
        frames[other].append(frames[group][place])
        matches[other].append(matches[group][place])

    number = 0
    for group, (group_frames, group_matches) in enumerate(zip(frames, matches, strict=True), start=1):
        kept = _coincide(draft, group_matches, f"coincidences_{group:04d}.xml", rng)
        again = []
        for frame in group_frames:
            number += 1
            triggers = draft.add(
                "TrigBank",
                TRIGGER_BANK.draw(rng),
                (kept,),
                File(f"triggers_{number:05d}.xml", round(TRIGGERS_SIZE.draw(rng))),
            )
            again.append(_match(draft, triggers, frame, f"rematches_{number:05d}.xml", rng))
        _coincide(draft, again, f"recoincidences_{group:04d}.xml", rng)
    return draft.finish()


def _match(draft: Draft, bank: File, frame: File, output: str, rng: random.Random) -> File:
    matches = File(output, round(MATCHES_SIZE.draw(rng)))
    return draft.add("Inspiral", INSPIRAL.draw(rng), (CALIBRATION, INJECTIONS, frame, bank), matches)


def _coincide(draft: Draft, matches: list[File], output: str, rng: random.Random) -> File:
    return draft.add("Thinca", THINCA.draw(rng), matches, File(output, round(COINCIDENCES_SIZE.draw(rng))))


def _shape(tasks: int, rng: random.Random) -> _Shape:
    """Split tasks into groups: two per template bank, two per match that a group reads, two per group."""
    groups = _groups(tasks, rng)
    if groups == 1:
        return _Shape([tasks // 4], shared=0)
    half = tasks // 2
    shared = round(half / 2 * rng.uniform(0, SHARED))
    shared += (half - groups - shared) % 2
    banks = (half - groups - shared) // 2
    cuts = [0, *sorted(rng.sample(range(1, banks), groups - 1)), banks]
    return _Shape([after - before for before, after in pairwise(cuts)], shared)


def _groups(tasks: int, rng: random.Random) -> int:
    if tasks < 24:
        return 1
    low, high = map(math.log, GROUP_SIZES)
    size = math.exp(rng.uniform(low, high))
    fewest = 1 if rng.random() < 0.25 else 2
    return max(fewest, round(tasks / 4 / size))


def _links(shape: _Shape, rng: random.Random) -> list[tuple[int, int, int]]:
    """Return the shared matches: group, the neighbour that also reads it, and its position in the group."""
    if not shape.shared:
        return []
    enough = max(LINKED * sum(shape.own), shape.shared)
    first = len(shape.own) - 2
    while first > 0 and sum(shape.own[first:]) < enough:
        first -= 1
    last = len(shape.own) - 1
    places = [
        (group, group + 1 if group < last else group - 1, place)
        for group in range(first, last + 1)
        for place in range(shape.own[group])
    ]
    return rng.sample(places, shape.shared)
