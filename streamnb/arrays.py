"""What the kernels share: the arrays, the places in them, and how a kernel is compiled.

Law: slot 0 of every class axis is all classes together; class k has slot k + 1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WEIGHT, EVENTS, GIVEN = range(3)
"""The rows of `Tables.weights`: the weight learned, the number of events learned, the prior that the user gave."""

SMOOTHING, VARIANCE_PRIOR, DEGREES, PRIOR_SMOOTHING, PRIOR, KNOWN, BAGS, UNIT, RATE, CLIP = range(10)
"""The places in `Tables.settings`.

Degrees are what a variance takes off the weight: 0, or 1 where it is unbiased. The first so many classes are known even
before an event of theirs. The unit is the stored weight of an event of now: 1, or more as forgetting goes on; smoothing
and priors are counted in it. The step rate of learned weights and the most that a part of an event may say are those of
a model with several memories.
"""

OBSERVED_PRIOR, UNIFORM_PRIOR, GIVEN_PRIOR = range(3)
MULTINOMIAL, COMPLEMENT, BERNOULLI = range(3)

MIXED, GAUSSIAN, LOG_NORMAL, BINNED, AUTO = range(5)
"""The likelihoods of numbers: a Gaussian and bins, each with its weight; one of three alone; the best of these."""

LIKELIHOOD, FITS, EDGES = 0, 1, 4
"""The places in likelihoods [feature, place].

Which it is; how well the Gaussian, the log-normal and the bins have told the label so far, as sums of logs; the
declared edges of bins, infinite from the last one on, the first NaN where bins are automatic.
"""

CHANGE, SQUARES = range(2)
"""What a learned weight is kept as: its change from where it starts, and the sum of its squared gradients."""

CURVE, BIN = range(2)
"""The two parts that a number may say: what its density curve does, and what its bin does."""

LOSS = 2
"""Beside change and squares of a memory's prior: the loss of the memory, older losses faded."""

HALF_LIFE, LANDMARK, NEWEST, UNIT_NOW = range(4)
"""The places in clocks [memory, place]."""

PRODUCTS, SCORES, PRIORS = range(3)
"""The rows of the kernels' work space [row, class]: ratios multiplied so far, log scores, log priors."""

MOMENTS = 5
"""How many moments a feature has: weight, mean, sum of squared deviations, TAKEN and LOW."""

TAKEN = 3
"""The moment that tells, in slot 0, of what size rounding may be left in the others: see kernels/unlearn.py."""

LOW = 4
"""The moment that is what rounding left off the mean: the two together have twice the digits of one."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A spread below this share of what was added up is rounding noise, not data."""

LABEL, AMOUNT, UNIT_THEN = range(3)
"""The rows of lessons [row, event].

The code of an event's label, negative where it is not to be learned; the weight to store it with; the unit when it is
scored.
"""

TIME, LOSS_OF_LONGEST = 2, 3
"""The rows of lessons of a model with several memories, in place of and beyond those above.

The time of an event instead of a unit; and, if there is such a row, room for the log loss of the longest memory.
"""

NUMBERS, CATEGORIES, TOKENS = range(3)
"""The rows of the starts of `Events`."""

ABSENT = np.iinfo(np.int64).min
"""The category code of a feature that an event does not have."""

SMALLEST_PROBABILITY = 1e-15
"""Log loss takes a probability to lie between this and one minus this."""

LARGEST = 1e140
"""Numbers beyond this have squares that a sum of squares in double precision cannot hold."""

FARTHEST = 40.0
"""Half-lives from the landmark of a clock to an event: squares of 1e140 times 2^40 are far from overflowing."""

FADED = 2.0**-500
"""A stored weight below this is nothing."""

RESIDUE = 2.0**-40
"""What is left of a weight, as a share of what was taken from it, is rounding below this."""


class Tables(NamedTuple):
    """What was learned, as arrays, and the settings that scoring needs; see tables.py for the axes."""

    weights: Floats
    moments: Floats
    counts: Floats
    totals: Floats
    distinct: Floats
    owner: Integers
    settings: Floats
    classes: int


Events = tuple[Integers, Integers, Floats]
"""Encoded events, as starts, entries and values.

Event i owns the entries starts[NUMBERS, i]:starts[NUMBERS, i + 1], the features of its numbers, ascending; in the same
way TOKENS, the codes of the tokens of its bags, and CATEGORIES, those of its categories, ascending by feature. All
numbers come before all tokens, and these before all categories; at the same places, numbers have their values, and
tokens how often they came. The tokens of one bag come after a head, the code -feature - 1 with the count 0, and ascend
by code, unseen ones last. A plain tuple, since making a named one for every event takes as long as learning it.
"""

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


_OPTIONS: dict[str, Any] = {"error_model": "numpy", "forceinline": True}
if hasattr(getattr(getattr(numba.core, "options", None), "DefaultOptions", None), "_nrt"):
    _OPTIONS["_nrt"] = False  # not a promise of numba's: without it kernels do the same in twice the time


def compiled(function: _Kernel) -> _Kernel:
    """Compile on first call; keep the machine code on disk where numba finds a place that it may write to.

    Divisions that never meet a zero need no check (error_model), and small functions are worth no call (forceinline).
    A kernel makes no arrays (_nrt): to count who holds each array at every call in it took half of its time.
    """
    try:
        kernel: Any = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba's word for: neither the package nor the home folder can be written to
        kernel = numba.njit(**_OPTIONS)(function)
    return kernel  # type: ignore[no-any-return]
