"""Epigenomics: mapping short reads of DNA to a reference genome.

The reads of each lane are split into chunks; each chunk is filtered, converted twice and mapped; maps are merged per
lane and then over all lanes, indexed and piled up. Structure and figures: Bharathi et al. 2008 and Juve et al. 2013;
rates are those of the well-known published instances of 24 to 1,000 tasks. There, as here, run times follow sizes: a
chunk's share of its lane for the conversions, the reference genome for mapping, which is nearly all of the work. That
size was drawn once per workflow, so run times of two workflows may differ fourfold. No instances with more than seven
lanes were published; here the number of lanes grows with the size.
"""

import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Normal, Uniform

MEGABYTE = 1_000_000

SPLIT = Uniform(0.09, 0.2)
FILTER = Normal(0.115, 0.042, 0.078, 0.235)
CONVERT = Normal(0.068, 0.0175, 0.043, 0.131)
PACK = Normal(0.149, 0.028, 0.098, 0.25)
MERGE = Normal(0.447, 0.075, 0.334, 0.608)
INDEX = Uniform(0.00084, 0.00118)
MAP = Normal(2.55, 0.9, 1.8, 5.1)
PILEUP = Uniform(0.958, 1.282)
"""Seconds per megabyte read; of the reference for MAP and PILEUP."""

REFERENCE_SIZE = Uniform(1_249_000_000, 5_301_000_000)
LANE_SIZE = Uniform(183_000_000, 474_000_000)
CHUNK_SHARE = Normal(1.0, 0.05, 0.87, 1.16)
CLEAN_SHARE = 0.5
CONVERTED_SHARE = Normal(0.775, 0.21, 0.52, 1.42)
PACKED_SHARE = Normal(0.238, 0.024, 0.177, 0.334)
MAPPED_SHARE = 1.087
MERGED_SHARE = 0.95
INDEXED_SHARE = Uniform(0.0135, 0.0238)
PILED_SHARE = Uniform(3, 8.3)

FEWEST_CHUNKS = 5
MOST_CHUNKS = 35
"""Chunks per lane in the published instances."""
MOST_LANES = 7


def epigenomics(tasks: int, rng: random.Random) -> Workflow:
    """Return an Epigenomics workflow of about this many tasks (at least 8): at most two more or fewer."""
    draft = Draft("epigenomics", tasks, smallest=8)
    lanes = _lanes(tasks, rng)
    chunks = round((tasks - 3 - (2 * lanes if lanes > 1 else 1)) / 4)
    reference = File("reference.bfa", round(REFERENCE_SIZE.draw(rng)))
    merged = [
        _add_lane(draft, lane, chunks // lanes + (lane <= chunks % lanes), reference, rng)
        for lane in range(1, lanes + 1)
    ]
    whole = merged[0] if lanes == 1 else _merge(draft, merged, "merged.map", rng)
    index = File("index.map", round(whole.size * INDEXED_SHARE.draw(rng)))
    draft.add("maqindex", _megabytes(whole) * INDEX.draw(rng), (whole,), index)
    draft.add(
        "pileup",
        _megabytes(reference) * PILEUP.draw(rng),
        (reference, index),
        File("pileup.txt", round(index.size * PILED_SHARE.draw(rng))),
    )
    return draft.finish()


def _lanes(tasks: int, rng: random.Random) -> int:
    """Return up to seven lanes, as many as have enough chunks; in larger workflows one for every 35 chunks."""
    most = min(MOST_LANES, (tasks - 3) // (4 * FEWEST_CHUNKS + 2))
    return max(1, rng.randint(1, max(1, most)), tasks // (4 * MOST_CHUNKS + 2))


def _add_lane(draft: Draft, lane: int, chunks: int, reference: File, rng: random.Random) -> File:
    """Add the tasks that split, convert and map one lane, and return its merged map."""
    reads = File(f"lane_{lane:04d}.sfq", round(LANE_SIZE.draw(rng)))
    parts = [
        File(f"chunk_{lane:04d}_{chunk:05d}.sfq", round(reads.size / chunks * CHUNK_SHARE.draw(rng)))
        for chunk in range(1, chunks + 1)
    ]
    draft.add("fastqSplit", _megabytes(reads) * SPLIT.draw(rng), (reads,), *parts)
    maps = []
    for chunk, part in enumerate(parts, start=1):
        name = f"{lane:04d}_{chunk:05d}"
        clean = File(f"clean_{name}.sfq", round(part.size * CLEAN_SHARE))
        converted = File(f"clean_{name}.fq", round(clean.size * CONVERTED_SHARE.draw(rng)))
        packed = File(f"clean_{name}.bfq", round(converted.size * PACKED_SHARE.draw(rng)))
        mapped = File(f"clean_{name}.map", round(packed.size * MAPPED_SHARE))
        draft.add("filterContams", _megabytes(part) * FILTER.draw(rng), (part,), clean)
        draft.add("sol2sanger", _megabytes(clean) * CONVERT.draw(rng), (clean,), converted)
        draft.add("fastq2bfq", _megabytes(converted) * PACK.draw(rng), (converted,), packed)
        maps.append(draft.add("map", _megabytes(reference) * MAP.draw(rng), (reference, packed), mapped))
    return _merge(draft, maps, f"lane_{lane:04d}.map", rng)


def _merge(draft: Draft, maps: list[File], output: str, rng: random.Random) -> File:
    size = sum(file.size for file in maps)
    return draft.add("mapMerge", size / MEGABYTE * MERGE.draw(rng), maps, File(output, round(size * MERGED_SHARE)))


def _megabytes(file: File) -> float:
    return file.size / MEGABYTE
