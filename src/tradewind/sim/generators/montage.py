"""Montage: a mosaic of the sky from overlapping images.

Each image is projected, each overlapping pair compared, the differences are fitted into one model of the background,
each image is corrected by it, and the corrected images are added, shrunk and converted to a picture. Structure and
figures: Bharathi et al. 2008 and Juve et al. 2013; means, deviations and limits are those of the well-known published
instances of 25 to 1,000 tasks. There, pairs are drawn among all images; here they are close to each other on a grid, as
in the sky, with the same number of pairs per image (about four). An image and its area file count as one file.
"""

import math
import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Normal, Uniform

PROJECT = Normal(13.58, 0.244, 12.68, 14.53)
DIFF = Normal(10.59, 0.1, 10.25, 10.97)
BACKGROUND = Normal(10.746, 0.174, 10.1, 11.33)
CONCAT_PER_PAIR = 0.08
MODEL_PER_IMAGE = Normal(0.26, 0.16, 0.068, 0.777)
TABLE_PER_IMAGE = Normal(0.367, 0.085, 0.188, 0.547)
ADD_PER_IMAGE = Normal(0.602, 0.0046, 0.588, 0.6125)
SHRINK_PER_ROW = 1.726
PICTURE_PER_ROW = Normal(0.28, 0.15, 0.078, 0.672)

REGION = File("region.hdr", 304)
RAW_SIZE = 4_222_080
IMAGE_SIZE = Normal(8_326_000, 19_000, 8_275_000, 8_381_000)
DIFF_SIZE = Uniform(142_600, 425_800)
MOSAIC_PER_ROW = Normal(43_500_000, 5_000_000, 34_700_000, 49_300_000)
PICTURE_SIZE_PER_ROW = Uniform(91_600, 255_000)


def montage(tasks: int, rng: random.Random) -> Workflow:
    """Return a Montage workflow with exactly this many tasks (at least 11)."""
    draft = Draft("montage", tasks, smallest=11)
    images = _images(tasks)
    rows = math.sqrt(images)  # the length of the mosaic's edge

    projected = [
        draft.add(
            "mProjectPP",
            PROJECT.draw(rng),
            (REGION, File(f"image_{number:05d}.fits", RAW_SIZE)),
            File(f"projected_{number:05d}.fits", round(IMAGE_SIZE.draw(rng))),
        )
        for number in range(1, images + 1)
    ]
    pairs = _overlaps(images, tasks - 2 * images - 6, rng)
    diffs = [
        draft.add(
            "mDiffFit",
            DIFF.draw(rng),
            (REGION, projected[one], projected[other]),
            File(f"diff_{number:05d}.txt", round(DIFF_SIZE.draw(rng))),
        )
        for number, (one, other) in enumerate(pairs, start=1)
    ]
    fits = draft.add("mConcatFit", CONCAT_PER_PAIR * len(pairs), diffs, File("fits.tbl", 210 * len(pairs)))
    model = draft.add(
        "mBgModel",
        MODEL_PER_IMAGE.draw(rng) * images,
        (File("images.tbl", 168 * images), fits),
        File("corrections.tbl", 53 * images),
    )
    corrected = [
        draft.add(
            "mBackground",
            BACKGROUND.draw(rng),
            (image, model),
            File(f"corrected_{number:05d}.fits", image.size),
        )
        for number, image in enumerate(projected, start=1)
    ]
    table = draft.add("mImgTbl", TABLE_PER_IMAGE.draw(rng) * images, corrected, File("corrected.tbl", 380 * images))
    mosaic = draft.add(
        "mAdd",
        ADD_PER_IMAGE.draw(rng) * images,
        (REGION, table),
        File("mosaic.fits", round(MOSAIC_PER_ROW.draw(rng) * rows)),
    )
    shrunken = draft.add("mShrink", SHRINK_PER_ROW * rows, (mosaic,), File("shrunken.fits", mosaic.size // 50))
    draft.add(
        "mJPEG",
        PICTURE_PER_ROW.draw(rng) * rows,
        (shrunken,),
        File("mosaic.jpg", round(PICTURE_SIZE_PER_ROW.draw(rng) * rows)),
    )
    return draft.finish()


def _images(tasks: int) -> int:
    """Return about one image per four pairs; in small mosaics as few images as have that many pairs."""
    images = max(2, round((tasks - 6) / 6))
    while math.comb(images, 2) < tasks - 2 * images - 6:
        images += 1
    return images


def _overlaps(images: int, count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Return distinct pairs of images at most two steps apart on a square grid (more if there are too few such)."""
    columns = math.isqrt(images - 1) + 1
    reach = 2
    while len(near := _pairs_within(reach, images, columns)) < count:
        reach += 1
    return sorted(rng.sample(near, count))


def _pairs_within(reach: int, images: int, columns: int) -> list[tuple[int, int]]:
    steps = [
        (down, across)
        for down in range(reach + 1)
        for across in range(-reach, reach + 1)
        if (down, across) > (0, 0)  # each pair once
    ]
    return [
        (image, image + down * columns + across)
        for image in range(images)
        for down, across in steps
        if 0 <= image % columns + across < columns and image + down * columns + across < images
    ]
