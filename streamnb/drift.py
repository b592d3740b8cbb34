"""DriftDetector: whether the predictions have become worse, told from their log losses.

Law: what is found depends on the losses and their order alone, not on how they are handed over, nor on whether the
detector was saved and loaded in between.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import SMALLEST_PROBABILITY, Floats

MEAN_OF = 50
"""How many losses go into one mean, which the test takes for one observation."""

MEANS = 10
"""How many means are tested at once."""

KEPT = 1_000
"""How many means are kept at the least, once there have been so many; at the most, twice as many."""

WRONG, LOSS = range(2)
"""The rows of the means [row, mean]: of the probability given to wrong classes, and of the log loss."""

_SIGNIFICANCE = 1e-4


class Drift(NamedTuple):
    """A rise of the losses, from one mean to another.

    `since` is how many losses ago it was, as far as can be told; `wrong` is the mean probability given to wrong
    classes, `loss` the mean log loss, before and after.
    """

    since: int
    wrong_before: float
    wrong_after: float
    loss_before: float
    loss_after: float


class DriftDetector:
    """Finds when predictions become worse than they were: river's ADWIN over the probability given to wrong classes.

    That probability is the log loss squashed, 1 - exp(-loss): ADWIN wants bounded values, and one answer that is wrong
    and sure of itself would outweigh a hundred others. ADWIN tests means of 50, ten at a time, with a confidence of
    1 - 1e-4. They are multiplied by ten times the root of 50, by which the term for single values of any distribution
    in its bound vanishes, and that for the variance is left: means of 50 bounded values are near to Gaussian. Where a
    change is found, the means before it are forgotten; only a rise is told. ADWIN's own state never leaves it: the
    means are kept, and give it anew.

    Bifet, A. and Gavaldà, R. (2007). Learning from time-changing data with adaptive windowing. SDM.

    Examples
    --------
    >>> detector = DriftDetector()
    >>> drifts = [detector.update(np.full(500, loss)) for loss in (0.1, 0.2, 0.1, 0.2, 0.9)]
    >>> drifts[:4], drifts[4].since, round(drifts[4].loss_after, 3)
    ([None, None, None, None], 500, 0.9)
    """

    def __init__(self) -> None:
        self._losses: Floats = np.zeros(0)
        self._means: Floats = np.zeros((2, 0))
        self._adwin: Any = None

    @property
    def room(self) -> int:
        """How many losses complete those that are tested at once, at which moment alone a drift is found."""
        return MEAN_OF * MEANS - len(self._losses)

    def update(self, losses: Floats) -> Drift | None:
        """Take the log losses of some events; return the drift that they complete, if any.

        Parameters
        ----------
        losses
            At most `room` of them, beside NaN for events that were not measured.

        Raises ValueError for more than there is room for.
        """
        measured = losses[~np.isnan(losses)]
        if len(measured) > self.room:
            raise ValueError(f"{len(measured)} losses at once, and there is room for {self.room}")
        self._losses = np.concatenate((self._losses, measured))
        if self.room:
            return None
        blocks = self._losses.reshape(MEANS, MEAN_OF)
        means = np.stack((-np.expm1(-blocks).mean(axis=1), blocks.mean(axis=1)))
        self._losses = np.zeros(0)
        if self._adwin is None:
            self._begin(self._means)
        self._means = np.concatenate((self._means, means), axis=1)
        if self._has_changed(means):
            return self._cut()
        if self._means.shape[1] >= 2 * KEPT:
            self._begin(self._means[:, -KEPT:])
        return None

    def _begin(self, means: Floats) -> None:
        """Begin anew with these means alone."""
        from river.drift import ADWIN  # noqa: PLC0415 - it takes half a second: only who looks for drift waits for it

        self._means = means
        self._adwin = ADWIN(delta=_SIGNIFICANCE, clock=1)  # type: ignore[no-untyped-call]
        self._has_changed(means)

    def _has_changed(self, means: Floats) -> bool:
        """Hand means to ADWIN; tell whether it finds a change at one of them."""
        changed = False
        for mean in means[WRONG].tolist():
            self._adwin.update(mean * 10.0 * math.sqrt(MEAN_OF))
            changed |= self._adwin.drift_detected
        return changed

    def _cut(self) -> Drift | None:
        """Forget what was before the change, where the means before and after it are farthest apart for their number.

        Return it if it is a rise.
        """
        wrong, size = self._means[WRONG], self._means.shape[1]
        before = np.arange(1, size)
        sums = np.cumsum(wrong)
        rises = (sums[-1] - sums[:-1]) / (size - before) - sums[:-1] / before
        place = int((rises**2 * before * (size - before)).argmax()) + 1
        old, new = self._means[:, :place].mean(axis=1), self._means[:, place:].mean(axis=1)
        self._begin(self._means[:, place:])
        if not new[WRONG] > old[WRONG]:
            return None
        since = (size - place) * MEAN_OF
        return Drift(since, float(old[WRONG]), float(new[WRONG]), float(old[LOSS]), float(new[LOSS]))

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that the detector is: plain values and arrays."""
        return {}, {"losses": self._losses, "means": self._means}

    @classmethod
    def from_state(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the detector whose `to_state` this is. Raises ValueError for what cannot be."""
        del plain
        losses, means = arrays["losses"], arrays["means"]
        most = math.ceil(-math.log(SMALLEST_PROBABILITY))
        for values, axes, size in ((losses, 1, MEAN_OF * MEANS), (means, 2, 2 * KEPT)):
            if values.dtype != np.float64 or values.ndim != axes or values.shape[-1] >= size:
                raise ValueError(f"losses of the shape {values.shape}")
            if not ((values >= 0.0) & (values <= most)).all():
                raise ValueError("a loss that cannot be")
        if len(means) != 2 or (means[WRONG] > 1.0).any():
            raise ValueError(f"means of the shape {means.shape}")
        detector = cls()
        detector._losses, detector._means = losses.copy(), means.copy()
        return detector
