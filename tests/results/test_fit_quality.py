from __future__ import annotations

from types import SimpleNamespace

import pytest
from sklearn.exceptions import ConvergenceWarning

from soffit import SoF
from soffit.results.fit_quality import EarlyStop, agreement_sentence, unstable_message


def test_a_fit_that_converged_has_no_early_stop(fitted):
    assert EarlyStop.of(fitted) is None
    assert EarlyStop.of(SimpleNamespace()) is None
    assert EarlyStop.of(fitted, "converged", 3) is None


@pytest.mark.parametrize(
    ("reason", "cause", "named", "remedy"),
    [
        ("max_iter", "the limit of 300 iterations", "max_iter=300", "Increase max_iter"),
        ("max_time", "the time limit of 2.5 s", "max_time=2.5 s", "Increase max_time, or set"),
        ("callback", "the callback stopped it", "the callback stopped it", "Set warm_start=True"),
        ("interrupted", "it was interrupted", "it was interrupted", "Set warm_start=True"),
    ],
)
def test_every_reason_has_a_sentence_and_a_remedy(reason, cause, named, remedy):
    n_iter = 300 if reason == "max_iter" else 7
    model = SimpleNamespace(
        converged_=False,
        stop_reason_=reason,
        n_iter_=n_iter,
        max_iter=300,
        max_time=2.5,
        warm_start=False,
    )
    stop = EarlyStop.of(model)
    assert stop.sentence().startswith(
        f"The fit stopped after {n_iter} iterations without converging: "
    )
    assert cause in stop.sentence()
    assert named in stop.sentence("SoF", parameters=True)
    assert stop.remedy.startswith(remedy)


def test_models_that_cannot_continue_are_not_told_to():
    model = SimpleNamespace(converged_=False, stop_reason_="max_time", n_iter_=1)
    assert EarlyStop.of(model).remedy == "Increase max_time."


def test_the_warning_of_a_fit_is_the_same_sentence(blobs):
    model = SoF(3, max_iter=1, random_state=23)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(blobs.X)
    expected = EarlyStop.of(model).sentence("SoF", parameters=True)
    assert expected == "SoF stopped after 1 iteration without converging: it reached max_iter=1."
    assert str(caught[0].message).startswith(expected)


def test_instability_is_told_with_its_figure():
    assert agreement_sentence(0.611) == "Two fits on subsamples agree on 61 % of the objects."
    assert agreement_sentence(0.611) in unstable_message("SoftClustering", 0.611)


def test_a_search_below_the_limit_is_not_said_to_have_reached_it():
    model = SimpleNamespace(converged_=False, stop_reason_="max_iter", n_iter_=7, max_iter=500)
    sentence = EarlyStop.of(model).sentence("SoftHierarchy", parameters=True)
    assert sentence == (
        "SoftHierarchy did not converge: in one of its searches it reached max_iter=500."
    )
