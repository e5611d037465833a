"""SIPHT: the search for genes of small RNAs in bacteria.

One group per genome: many Patser tasks scan for binding sites and are concatenated; four searches feed the prediction
(SRNA), whose candidates five Blast and parse tasks compare with what is known; SRNA_annotate joins everything.
Structure and figures: Bharathi et al. 2008 and Juve et al. 2013; deviations and limits are those of the well-known
published instances of 30 to 1,000 tasks. Larger workflows consist of several independent groups. Files
with the same writer and readers are counted as one.
"""

import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Distribution, Draft, Normal, Uniform

RUNTIMES: dict[str, Distribution] = {
    "Patser": Normal(1.272, 0.294, 0.635, 1.905),
    "Patser_concate": Uniform(0.04, 0.12),
    "Findterm": Uniform(678, 2023),
    "RNAMotif": Normal(36.1, 8.7, 18.3, 54.6),
    "Transterm": Uniform(27.9, 82.5),
    "Blast": Normal(2350, 900, 1177, 3526),
    "SRNA": Uniform(181, 541),
    "FFN_Parse": Normal(1.632, 0.236, 1.04, 2.325),
    "Blast_candidate": Normal(5.18, 1.05, 2.607, 7.69),
    "Blast_QRNA": Normal(1413.2, 96.2, 1159, 1690),
    "Blast_synteny": Uniform(33, 33),
    "Blast_paralogues": Normal(5.063, 1.11, 2.498, 7.482),
    "SRNA_annotate": Normal(1.69, 0.65, 0.84, 2.515),
}
SIZES: dict[str, Distribution] = {
    "Patser": Uniform(46_200, 137_500),
    "Findterm": Normal(34_200_000, 5_000_000, 23_000_000, 45_000_000),
    "RNAMotif": Normal(1_039_000, 94_000, 821_000, 1_307_000),
    "Transterm": Normal(438_900, 15_400, 402_000, 480_000),
    "Blast": Uniform(2_785_000, 7_461_000),
    "SRNA": Normal(83_800, 3_600, 75_000, 90_900),
    "FFN_Parse": Normal(793_300, 133_000, 483_000, 1_102_000),
    "Blast_candidate": Normal(16_700, 2_060, 12_700, 18_400),
    "Blast_QRNA": Normal(177_300, 8_040, 162_000, 195_000),
    "Blast_synteny": Uniform(574_000, 1_716_000),
    "Blast_paralogues": Uniform(357_000, 1_035_000),
    "SRNA_annotate": Normal(1_040_000, 180_000, 700_000, 1_400_000),
}
REPORT_SIZE = Normal(331_500, 23_400, 280_000, 376_000)
GENOME_SIZE = Normal(4_220_000, 730_000, 3_868_000, 6_895_000)
PARTNERS_SIZE = Normal(258_000_000, 7_000_000, 243_000_000, 271_000_000)

MATRIX = File("matrix.txt", 170_917)
PROGRAMS = File("blast_programs", 1_178_964)
KNOWN = File("known_rnas.txt", 1_028_400)
ORFS = File("flanking_orfs.txt", 1_419_426)

FIXED = 12
"""Tasks of a group besides Patser."""
GROUP = 30.25
"""Mean size of a group, which determines the number of groups."""


def sipht(tasks: int, rng: random.Random) -> Workflow:
    """Return a SIPHT workflow with exactly this many tasks (at least 13)."""
    draft = Draft("sipht", tasks, smallest=FIXED + 1)
    groups = max(1, round(tasks / GROUP))
    for number, scans in enumerate(_scans(tasks - groups * FIXED, groups, rng), start=1):
        _add_group(draft, f"{number:04d}", scans, rng)
    return draft.finish()


def _scans(total: int, groups: int, rng: random.Random) -> list[int]:
    """Return the Patser tasks per group: about equal, with a few moved at random between groups."""
    share, rest = divmod(total, groups)
    scans = [share + (group < rest) for group in range(groups)]
    for group in range(groups):
        moved = min(rng.randint(0, 2), scans[group] - 1)
        scans[group] -= moved
        scans[rng.randrange(groups)] += moved
    return scans


def _add_group(draft: Draft, genome_id: str, scans: int, rng: random.Random) -> None:
    def add(name: str, *inputs: File, extra: tuple[File, ...] = ()) -> File:
        output = File(f"{name}_{genome_id}.txt", round(SIZES[name].draw(rng)))
        return draft.add(name, RUNTIMES[name].draw(rng), inputs, output, *extra)

    genome = File(f"genome_{genome_id}.fna", round(GENOME_SIZE.draw(rng)))
    partners = File(f"partners_{genome_id}.txt", round(PARTNERS_SIZE.draw(rng)))
    sites = [
        draft.add(
            "Patser",
            RUNTIMES["Patser"].draw(rng),
            (MATRIX, genome),
            File(f"Patser_{genome_id}_{scan:03d}.txt", round(SIZES["Patser"].draw(rng))),
        )
        for scan in range(1, scans + 1)
    ]
    all_sites = draft.add(
        "Patser_concate",
        RUNTIMES["Patser_concate"].draw(rng),
        sites,
        File(f"Patser_concate_{genome_id}.txt", sum(file.size for file in sites)),
    )
    searches = (
        add("Findterm", genome),
        add("RNAMotif", genome),
        add("Transterm", genome),
        add("Blast", PROGRAMS, partners),
    )
    report = File(f"SRNA_{genome_id}.out", round(REPORT_SIZE.draw(rng)))
    candidates = add("SRNA", KNOWN, genome, *searches, extra=(report,))
    genes = add("FFN_Parse", genome, candidates)
    add(
        "SRNA_annotate",
        MATRIX,
        candidates,
        report,
        all_sites,
        add("Blast_synteny", PROGRAMS, ORFS, candidates, genes),
        add("Blast_candidate", PROGRAMS, KNOWN, candidates),
        add("Blast_QRNA", PROGRAMS, partners, candidates),
        add("Blast_paralogues", PROGRAMS, candidates),
    )
