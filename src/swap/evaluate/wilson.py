"""Computes Wilson's score interval of a success rate."""

import math

Z_95 = 1.959963984540054
"""The standard normal's 97.5 % quantile."""


def wilson(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """(low, high); unlike rate ± error, it stays in [0, 1] and is not empty when none or all
    succeed."""
    if trials < 1:
        return 0.0, 1.0
    rate = successes / trials
    spread = z * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2))
    middle = rate + z**2 / (2 * trials)
    scale = 1 + z**2 / trials
    # The ends are exactly 0 and 1 where they should be, whatever the rounding.
    low = 0.0 if successes == 0 else (middle - spread) / scale
    high = 1.0 if successes == trials else (middle + spread) / scale
    return low, high
