"""
Can I guide the segmentation with strokes?
==========================================

Mark a few pixels: the same number belongs together, different numbers belong apart. Strokes are
pairs for ``must_link`` and ``cannot_link``.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import chelsea
from skimage.transform import resize

from soffit import segment

image = resize(chelsea(), (90, 135), anti_aliasing=True)
strokes = np.zeros(image.shape[:2], dtype=int)
strokes[30:55, 55:80] = 1  # the face
strokes[3:8, 5:40] = 2  # background
strokes[3:40, 128:133] = 2

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.6))
marked = image.copy()
marked[strokes == 1] = (1, 0.2, 0)
marked[strokes == 2] = (0, 0.5, 1)
axes[0].imshow(marked)
axes[0].set_title("strokes")
for axis, given in zip(axes[1:], (None, strokes), strict=True):
    result = segment(image, 2, given, random_state=0)
    cat = result.labels[42, 67]
    axis.imshow(image * (0.25 + 0.75 * result.memberships[..., [cat]]))
    axis.set_title("without strokes" if given is None else "with strokes")
for axis in axes:
    axis.set(xticks=[], yticks=[])
plt.show()
