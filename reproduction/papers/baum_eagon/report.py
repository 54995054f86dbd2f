"""The report on table 1 and figures 1, 2 of Rota Bulo & Pelillo."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.harness.experiment import Record, Results
from reproduction.harness.report import (
    LABEL_TUNED,
    NO_DATA,
    NOT_REPRODUCED,
    REPRODUCED,
    SHOWN,
    Finding,
    Picture,
    Report,
    judged,
)
from soffit.figures.style import SHARE, colour, colour_bar, dress, scale

METHODS = ("BE", "CP", "NCUT", "NJW")
_TOLERANCE = 0.03
_SELF_TUNING = "W = exp(-d^2 / (s_i s_j)), s the distance to the 7th neighbour"
# A case of ours: row of table 1, and what W is.
CASES: dict[str, tuple[str, str]] = {
    "blocks": (
        "S-Block",
        "our generator: n=100, 5 blocks of 20, mean 0.6 inside and 0.3 between, noise sd 0.2, "
        "clipped at 0",
    ),
    "blocks, harder": (
        "S-Block",
        "our generator: n=100, 5 blocks of 20, mean 0.5 inside and 0.3 between, noise sd 0.25, "
        "clipped at 0",
    ),
    "digits": ("Digit", f"scikit-learn's digits, 100 of each; {_SELF_TUNING}"),
    "iris": ("Iris", _SELF_TUNING),
    "iris, cosine": (
        "Iris",
        f"W = cosine^200, the best of about 50 similarities {LABEL_TUNED}",
    ),
}
_PUBLISHED = {
    "S-Block": {"BE": 0.995, "CP": 0.556, "NCUT": 1.000, "NJW": 0.596},
    "Digit": {"BE": 0.700, "CP": 0.430, "NCUT": 0.566, "NJW": 0.657},
    "Iris": {"BE": 0.993, "CP": 0.991, "NCUT": 0.993, "NJW": 0.993},
}
_SPREAD = {
    "S-Block": {"BE": 0.013, "CP": 0.143, "NCUT": 0.000, "NJW": 0.010},
    "Digit": {"BE": 0.042, "CP": 0.142, "NCUT": 0.096, "NJW": 0.000},
    "Iris": {"BE": 0.000, "CP": 0.003, "NCUT": 0.000, "NJW": 0.000},
}
_SCOP = "BE .706 ± .001, CP .703 ± .000, NCUT .568 ± .000, NJW .630 ± .000"


def report(results: Results) -> Report:
    """Table 1 with verdicts, and the matrices before and after."""
    findings = [
        _finding(results, case, method)
        for case in CASES
        for method in METHODS
        if results.where(case=case, method=method)
    ]
    findings += _of_order(results)
    findings.append(
        Finding("Scop, k=5, n=451", _SCOP, "-", "the similarity matrix is not available", NO_DATA)
    )
    pictures = []
    for case in ("blocks", "iris", "digits"):
        shown = [record for record in results.where(case=case, method="BE") if record.path]
        if shown:
            number = {"blocks": "Figure 1: ", "iris": "Figure 2: "}.get(case, "")
            caption = f"{number}{case}: W, alpha Y'Y and the membership profiles"
            pictures.append(Picture(case, caption, _picture(shown[0], case), 1000, 470))
    return Report(_reading(results), findings, (), pictures)


def _finding(results: Results, case: str, method: str) -> Finding:
    row, setting = CASES[case]
    scores = results.column("accuracy", case=case, method=method)
    theirs = _PUBLISHED[row][method]
    verdict = judged(float(scores.mean()), theirs, _TOLERANCE)
    if row == "S-Block":
        verdict = f"{SHOWN}: other data, so not comparable"
    elif LABEL_TUNED in setting:
        verdict += ": with a similarity chosen by labels"
    return Finding(
        f"{row}, {method}",
        f"{theirs:.3f} ± {_SPREAD[row][method]:.3f}",
        f"{scores.mean():.3f} ± {scores.std():.3f}",
        setting,
        verdict,
    )


def _of_order(results: Results) -> list[Finding]:
    """BE is the best on digits."""
    means = _means(results, "digits")
    if not means:
        return []
    best = max(means.values())
    ours = [method for method, mean in means.items() if mean >= best - 1e-12]
    return [
        Finding(
            "Digit: the best of the four methods",
            "BE",
            ", ".join(ours),
            CASES["digits"][1],
            REPRODUCED if ours == ["BE"] else NOT_REPRODUCED,
        )
    ]


def _means(results: Results, case: str) -> dict[str, float]:
    return {
        method: float(results.column("accuracy", case=case, method=method).mean())
        for method in METHODS
        if results.where(case=case, method=method)
    }


def _reading(results: Results) -> str:
    parts = []
    digits = _means(results, "digits")
    if digits:
        word = {"better": "above", REPRODUCED: "as"}.get(
            judged(digits["BE"], _PUBLISHED["Digit"]["BE"], _TOLERANCE), "below"
        )
        parts.append(
            f"On digits Baum-Eagon reaches {digits['BE']:.3f}, {word} the published .700; the "
            "digits are scikit-learn's 8 by 8 images, not those of the paper."
        )
    iris, tuned = _means(results, "iris"), _means(results, "iris, cosine")
    if iris and tuned:
        reached = max(iris["BE"], tuned["BE"]) >= _PUBLISHED["Iris"]["BE"] - _TOLERANCE
        parts.append(
            f"On iris it reaches {iris['BE']:.3f}, and {tuned['BE']:.3f} with a similarity that "
            f"was chosen with knowledge of the labels; the published .993 is "
            f"{'reached with that one only' if reached else 'not reproduced'}. The paper does "
            "not define its similarity."
        )
    blocks, harder = _means(results, "blocks"), _means(results, "blocks, harder")
    if blocks and harder:
        parts.append(
            "The S100 block matrix was not available; our generator replaces it, with "
            f"{blocks['BE']:.3f} on clear blocks and {harder['BE']:.3f} on harder ones. "
            "The large gap to CP and NJW in print is "
            + (
                "seen"
                if min(blocks["CP"], blocks["NJW"]) < blocks["BE"] - 0.2
                else "not seen on these matrices"
            )
            + "."
        )
    parts.append("SCOP stays empty, as its similarities are not available.")
    return " ".join(parts)


def _picture(record: Record, case: str) -> Any:
    """W, alpha Y'Y, and one line for each cluster."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    arrays = record.arrays
    figure = make_subplots(
        1,
        3,
        subplot_titles=["similarities W", "estimate alpha Y'Y", "memberships Y"],
        column_widths=[0.3, 0.3, 0.4],
        horizontal_spacing=0.06,
    )
    for column, name in ((1, "before"), (2, "after")):
        # Large matrices were averaged over blocks; the axes count objects all the same.
        step = len(arrays["profiles"]) / len(arrays[name])
        trace = go.Heatmap(
            z=arrays[name].round(3), x0=0, dx=step, y0=0, dy=step, coloraxis="coloraxis"
        )
        figure.add_trace(trace, row=1, col=column)
    for cluster, profile in enumerate(arrays["profiles"].T):
        line = go.Scatter(
            y=profile,
            mode="lines",
            line={"color": colour(cluster), "width": 1.2},
            name=str(cluster + 1),
        )
        figure.add_trace(line, row=1, col=3)
    notes = ["objects sorted by true group", f"alpha = {record.values['alpha']:.2f}"]
    dress(figure, f"Baum-Eagon on {case}", notes, height=470)
    figure.update_annotations(font_size=13)
    figure.update_xaxes(title_text="object")
    figure.update_yaxes(title_text="object", autorange="reversed", col=1)
    figure.update_yaxes(autorange="reversed", col=2)
    figure.update_yaxes(title_text="probability", range=[-0.02, 1.02], col=3)
    top = float(np.quantile(arrays["before"], 0.99))
    bar = colour_bar("similarity") | {
        "orientation": "h",
        "x": 0.27,
        "y": -0.28,
        "yanchor": "top",
        "len": 0.45,
    }
    figure.update_layout(
        coloraxis={"colorscale": scale(SHARE), "cmin": 0, "cmax": top, "colorbar": bar},
        legend_title_text="cluster",
        margin_b=130,
    )
    return figure
