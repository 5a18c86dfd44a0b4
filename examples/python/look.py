#!/usr/bin/env python3
"""Looks at a region of a job, which may run meanwhile: prints what there is, and draws the plate as a picture.

    python3 look.py CONFIG [REGION [FILE.pgm]]

FILE is a portable graymap, which most programs for pictures show. With matplotlib: `plt.imshow(job.newest["plate"])`.
"""

import sys

import numpy as np

import cairn

config, region, file = sys.argv[1], *(sys.argv[2:] + ["plate", "plate.pgm"][len(sys.argv) - 2 :])

(job,) = cairn.open(config=config).values()
print(job)  # its snapshots, as ckpt-tool lists them
snapshot = job.newest
print(snapshot)  # its regions
plate = snapshot[region]
print(f"{region}: from {plate.min():.3f} to {plate.max():.3f}")

gray = 255 * (plate - plate.min()) / max(plate.max() - plate.min(), 1e-300)
with open(file, "wb") as picture:
    picture.write(b"P5 %d %d 255\n" % plate.shape[::-1])
    picture.write(gray.astype(np.uint8).tobytes())
