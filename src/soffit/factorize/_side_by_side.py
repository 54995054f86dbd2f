"""Searches that ask for products with one matrix, which are made for all of them at once.

A dense matrix of thousands of objects does not fit into the processor's caches: a product with few
columns takes about as long as reading it, so that the columns of other searches cost little more.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from soffit._typing import FloatArray, Matrix
from soffit.factorize._problem import Factorization

Found = TypeVar("Found")
# Yields U, is sent the matrix times U, and in the end returns what it has found.
Asking = Generator[FloatArray, FloatArray, Found]


def answered(matrix: Matrix, searches: Sequence[Asking[Factorization]]) -> list[Factorization]:
    """What the searches find, in their order.

    Ctrl-C is passed on to all of them, so that each ends with what it has reached. A second one is
    not caught.
    """
    found: dict[int, Factorization] = {}
    answers: dict[int, FloatArray] = {}
    interrupted = False
    while len(found) < len(searches):
        try:
            questions = {}
            for number, search in enumerate(searches):
                if number in found:
                    continue
                try:
                    if interrupted:
                        questions[number] = search.throw(KeyboardInterrupt())
                    elif number in answers:
                        questions[number] = search.send(answers[number])
                    else:
                        questions[number] = next(search)
                except StopIteration as end:
                    found[number] = end.value
                    interrupted = interrupted or end.value.stopped == "interrupted"
            answers = _products(matrix, questions)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
    return [found[number] for number in range(len(searches))]


def _products(matrix: Matrix, questions: Mapping[int, FloatArray]) -> dict[int, FloatArray]:
    """The matrix times each of the arrays."""
    if len(questions) < 2:
        return {number: matrix @ U for number, U in questions.items()}
    widths = [U.shape[1] for U in questions.values()]
    products = np.hsplit(matrix @ np.hstack(list(questions.values())), np.cumsum(widths)[:-1])
    return {
        number: np.ascontiguousarray(product)
        for number, product in zip(questions, products, strict=True)
    }
