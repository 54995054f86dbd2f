"""Documents as sparse tables: one column per word, weighted by TF-IDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from soffit._typing import FloatArray, is_sparse
from soffit._wording import Message, Parameter, count_of, first_few
from soffit.io.data_error import DataError, shown

# Words of two letters or more, without digits.
_WORD = r"(?u)\b[^\W\d_]{2,}\b"
# A word relates documents if at least two have it, and tells them apart if not most have it.
_LEAST_DOCUMENTS = 2
_MOST_DOCUMENTS = 0.5
# Smaller weights are zero but for rounding; a single word's is larger in any document.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class WordWeights:
    """The words that a model knows, and the weight of each."""

    words: tuple[str, ...]  # In the order of the columns.
    idf: FloatArray  # (p,): inverse document frequencies.

    @classmethod
    def of(cls, model: Any) -> WordWeights | None:
        """Those of the documents that a model was fitted to; None if it was fitted to others.

        The model keeps its documents as rows of weights, of length one. How many of them have a
        word is how many of its weights are not zero, so that nothing else needs to be stored.
        """
        check_is_fitted(model)
        names = getattr(model, "feature_names_in_", None)
        affinity = getattr(model._fitted.placer, "affinity", None)
        if names is None or affinity is None:
            return None
        copies = model._fitted.attributes.get("copies_")
        n = affinity.matrix_.shape[0]
        rows = affinity.fitted_rows(np.arange(n) if copies is None else np.asarray(copies))
        prepared = model._fitted.preparation
        if is_sparse(rows):
            rows = sp.csr_array(rows)
        elif getattr(prepared, "is_active", False):
            rows = rows * prepared.spread + prepared.center
        squares = rows.power(2) if is_sparse(rows) else rows**2
        lengths = np.asarray(squares.sum(axis=1)).ravel()
        if not np.allclose(lengths, 1.0, atol=_ROUNDING) or rows.min() < -_ROUNDING:
            return None
        frequency = np.asarray((rows > _ROUNDING).sum(axis=0)).ravel()
        return cls(tuple(map(str, names)), _idf(len(lengths), frequency))


def _idf(n: int, frequency: Any) -> FloatArray:
    """As in scikit-learn: one document more has every word."""
    return np.asarray(np.log((1.0 + n) / (1.0 + frequency)) + 1.0)


@dataclass(frozen=True, eq=False)
class WordTable:
    """Weights of words, the rows that have any if some have none, and notes."""

    values: sp.csr_array
    words: tuple[str, ...]
    kept: NDArray[np.intp] | None
    notes: list[str]


def word_table(
    path: Path, texts: Sequence[str], columns: Sequence[str], weights: WordWeights | None = None
) -> WordTable:
    """TF-IDF weights of the words of documents, each row of length one.

    A word that occurs c times in a document counts 1 + log c.

    `path`: the file, for messages.
    `texts`: the documents.
    `columns`: where they come from, for messages.
    `weights`: words and weights to use instead of those of these documents.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    where = first_few(map(shown, columns))
    limits: dict[str, Any] = {"min_df": _LEAST_DOCUMENTS, "max_df": _MOST_DOCUMENTS}
    if weights is not None:
        limits = {"vocabulary": {word: place for place, word in enumerate(weights.words)}}
    counter = CountVectorizer(token_pattern=_WORD, **limits)
    try:
        counts = sp.csr_array(counter.fit_transform(texts))
        found = counts.nnz > 0
    except ValueError:
        # What scikit-learn raises if no word is within the limits.
        found = False
    if not found:
        raise _no_words(path, where, weights)
    if weights is None:
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        names = tuple(counter.get_feature_names_out().tolist())
        weights = WordWeights(names, _idf(len(texts), frequency))
        note = (
            f"The documents in {where} are compared by their words: "
            f"{count_of(len(names), 'word')} that at least {_LEAST_DOCUMENTS} and at most half of "
            "them have, weighted by TF-IDF."
        )
    else:
        note = f"The documents in {where} are compared by the words of the model."
    values = counts.astype(np.float64)
    values.data = (1 + np.log(values.data)) * weights.idf[values.indices]
    values = sp.csr_array(normalize(values))
    values.sort_indices()
    kept = np.flatnonzero(np.diff(values.indptr) > 0)
    if len(kept) == len(texts):
        return WordTable(values, weights.words, None, [note])
    without = count_of(len(texts) - len(kept), "document")
    left = f"Left out {without} without any of these words."
    return WordTable(sp.csr_array(values[kept]), weights.words, kept, [note, left])


def _no_words(path: Path, where: str, weights: WordWeights | None) -> DataError:
    if weights is not None:
        return DataError(
            f"{path}: none of the words of the model occurs in {where}.",
            "Pass documents of the kind and language that the model was fitted to.",
        )
    return DataError(
        f"{path}: the documents in {where} have no words in common that tell them apart: each word "
        "occurs in only one of them, or in more than half.",
        Message(
            "Add documents or columns of numbers, or leave the column out with ",
            *(Parameter("drop"), "."),
        ),
    )
