"""CyberShake: how strongly the ground will shake at a site.

ExtractSGT extracts strain tensors from a huge model; many SeismogramSynthesis tasks read each extract; the peaks of
every seismogram are computed; seismograms and peaks are zipped. Structure and figures: Bharathi et al. 2008 and Juve et
al. 2013; deviations and limits are those of the well-known published instances of 30 to 1,000 tasks. In these the
number of extracts (2, 4 or 8) does not follow from the size; beyond them it grows so that an extract has no more
readers than in the largest.
"""

import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Uniform

EXTRACT = Uniform(73, 204)
SYNTHESIS = Uniform(21.8, 65.6)
PEAK = Uniform(0.55, 1.63)
ZIP_SEISMOGRAMS_EACH = Uniform(0.0075, 0.019)
ZIP_PEAKS_EACH = Uniform(0.0054, 0.0111)

MODEL_SIZE = Uniform(38_700_000_000, 41_200_000_000)
VARIATION_SIZE = Uniform(1_870_000, 5_560_000)
CUT_SIZE = Uniform(232_000_000, 695_000_000)
SEISMOGRAM_SIZE = 24_000
PEAK_SIZE = 216
ZIPPED_SEISMOGRAM = Uniform(1_700, 4_300)
ZIPPED_PEAK = Uniform(15, 31)

FEWEST_READERS = 5
MOST_READERS = 125
"""Mean number of syntheses per extract in the published instances."""


def cybershake(tasks: int, rng: random.Random) -> Workflow:
    """Return a CyberShake workflow of about this many tasks (at least 5), one less if the numbers do not work out."""
    draft = Draft("cybershake", tasks, smallest=5)
    cuts = _cuts(tasks, rng)
    syntheses = (tasks - cuts - 2) // 2
    extracted = [
        draft.add(
            "ExtractSGT",
            EXTRACT.draw(rng),
            (File(f"model_{number:04d}.sgt", round(MODEL_SIZE.draw(rng))),),
            File(f"cut_{number:04d}.sgt", round(CUT_SIZE.draw(rng))),
        )
        for number in range(1, cuts + 1)
    ]
    seismograms = []
    for number in range(1, syntheses + 1):
        cut = extracted[number - 1] if number <= cuts else rng.choice(extracted)  # every extract has a reader
        variation = File(f"variation_{number:05d}.txt", round(VARIATION_SIZE.draw(rng)))
        seismogram = File(f"seismogram_{number:05d}.grm", SEISMOGRAM_SIZE)
        seismograms.append(draft.add("SeismogramSynthesis", SYNTHESIS.draw(rng), (cut, variation), seismogram))
    draft.add(
        "ZipSeis",
        ZIP_SEISMOGRAMS_EACH.draw(rng) * syntheses,
        seismograms,
        File("seismograms.zip", round(ZIPPED_SEISMOGRAM.draw(rng) * syntheses)),
    )
    peaks = [
        draft.add("PeakValCalcOkaya", PEAK.draw(rng), (seismogram,), File(f"peaks_{number:05d}.bsa", PEAK_SIZE))
        for number, seismogram in enumerate(seismograms, start=1)
    ]
    draft.add(
        "ZipPSA",
        ZIP_PEAKS_EACH.draw(rng) * syntheses,
        peaks,
        File("peaks.zip", round(ZIPPED_PEAK.draw(rng) * syntheses)),
    )
    return draft.finish()


def _cuts(tasks: int, rng: random.Random) -> int:
    """Return an even number from two to eight, or what keeps readers per extract within the published range."""
    most = max(1, tasks // (2 * FEWEST_READERS + 1))
    fewest = tasks // (2 * MOST_READERS)
    cuts = min(max(rng.choice((2, 4, 6, 8)), fewest), most)
    return cuts - cuts % 2 if cuts > 1 else 1
