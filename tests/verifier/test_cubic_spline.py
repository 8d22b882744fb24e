"""Splines are exact for cubics, and close to what is smooth."""

from __future__ import annotations

import numpy as np
import pytest

from verifier.cubic_spline import spline_at, spline_integrals, spline_slopes


@pytest.mark.parametrize("nodes", [4, 5, 8, 30])
def test_cubics_are_met_exactly(nodes: int) -> None:
    at = np.arange(nodes, dtype=float)
    cubics = [
        np.polynomial.Polynomial(coefficients) for coefficients in ([2, -1, 0.5, 0.3], [-5, 4, 1, -0.2])
    ]
    values = np.array([cubic(at) for cubic in cubics])
    slopes = spline_slopes(values)
    places = np.linspace(0, nodes - 1, 50)
    for number, cubic in enumerate(cubics):
        assert slopes[number] == pytest.approx(cubic.deriv()(at), abs=1e-9)
        assert spline_at(places, values[number], slopes[number]) == pytest.approx(
            cubic(places), rel=1e-9, abs=1e-9
        )
        assert spline_integrals(values)[number] == pytest.approx(cubic.integ()(at), rel=1e-9, abs=1e-9)


def test_what_is_smooth_is_met_with_its_slope_and_curvature_unbroken_at_the_nodes() -> None:
    values = np.sin(np.arange(40) / 4)[None]
    slopes = spline_slopes(values)
    places = np.linspace(0, 39, 1000)
    assert spline_at(places, values[0], slopes[0]) == pytest.approx(np.sin(places / 4), abs=1e-4)
    rise = np.diff(values[0])
    curvature_before = 2 * slopes[0, :-1] + 4 * slopes[0, 1:] - 6 * rise
    curvature_after = 6 * rise - 4 * slopes[0, :-1] - 2 * slopes[0, 1:]
    assert curvature_before[:-1] == pytest.approx(curvature_after[1:])
