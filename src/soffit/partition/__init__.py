"""From a graph to a hard partition: eigenvectors, rounding, coarser graphs, and a choice."""
