"""
How do I segment an image, with soft borders?
=============================================

``soffit.segment`` clusters the pixels. Every pixel has a probability for each segment; borders
are where it is uncertain.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import coffee
from skimage.transform import resize

from soffit import segment

image = resize(coffee(), (100, 150), anti_aliasing=True)
result = segment(image, 4, random_state=0)

# %%
colours = np.array([plt.matplotlib.colors.to_rgb(f"C{c}") for c in range(4)])
shown = {
    "photograph": image,
    "memberships": result.memberships @ colours,
    "uncertainty": result.entropy,
}
figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.6))
for axis, (title, picture) in zip(axes, shown.items(), strict=True):
    axis.imshow(picture)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
