"""The pictures that come with scikit-image, grey and small."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from soffit._typing import FloatArray

_HINT = "Install scikit-image to run this part: pip install scikit-image."


@lru_cache(maxsize=4)
def photograph(name: str, height: int) -> FloatArray:
    """A picture of this height, with brightness between 0 and 1; nothing is downloaded."""
    try:
        import skimage
        from skimage.color import rgb2gray
        from skimage.io import imread
        from skimage.transform import resize
    except ImportError as error:
        raise ImportError(f"scikit-image, whose pictures are used, is missing. {_HINT}") from error
    path = Path(skimage.__file__).parent / "data" / f"{name}.png"
    if not path.is_file():
        raise OSError(f"this scikit-image comes without its picture {name}.png.")
    image = imread(path)
    grey = rgb2gray(image[:, :, :3]) if image.ndim == 3 else image / 255.0
    width = round(image.shape[1] * height / image.shape[0])
    return np.asarray(resize(grey, (height, width), anti_aliasing=True), dtype=np.float64)


def explained(image: FloatArray, labels: FloatArray) -> float:
    """Share of the variance of brightness that lies between segments."""
    values, codes = image.ravel(), np.unique(labels, return_inverse=True)[1].ravel()
    means = np.bincount(codes, values) / np.bincount(codes)
    return float(1.0 - np.sum((values - means[codes]) ** 2) / np.sum((values - values.mean()) ** 2))
