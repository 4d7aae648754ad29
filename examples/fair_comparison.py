"""Models compared fairly: the same options to choose from, chosen by validation alone, tested on the same seeds."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bankgcn.experiments.statistics import Spread, compare

TUNING_SEEDS = 3
CERTAIN = 0.05  # p-value below which a difference is called clear


class Score(NamedTuple):
    """Scores of the epoch that is best on validation data; choices may read ``valid`` alone."""

    valid: float
    test: float


Options = Mapping[str, Any]
Train = Callable[[str, Options, int], Score]  # model, options, seed


def options_of(description: str, epochs: int) -> argparse.ArgumentParser:
    """The options that all comparisons have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=epochs, help="epochs of each training (default: %(default)s)")
    return parser


def compare_models(
    train: Train, models: Sequence[str], grid: Sequence[Options], seeds: int, metric: str, test_to_train: float = 0
) -> dict[str, list[Score]]:
    """Tune the models, test them on every seed, and print which is better. Returns the scores of each model.

    Args:
        train: Trains a model and scores it.
        models: Names of the models; the first one is compared with each of the others.
        grid: The options that every model chooses from.
        seeds: Number of seeds; the first three choose the options.
        metric: Name of the score.
        test_to_train: Test examples per training example if every seed has its own split of the same data; 0 if the
            seeds share one split, or have data of their own.
    """
    scores = {}
    for model in models:
        tried, means = [], []
        for options in grid:
            tried.append([train(model, options, seed) for seed in range(min(seeds, TUNING_SEEDS))])
            means.append(Spread.of([score.valid for score in tried[-1]]).mean)
            print(f"{model}: {_text(options)}: validation {metric} {100 * means[-1]:.1f}", flush=True)
        best = means.index(max(means))
        more = [train(model, grid[best], seed) for seed in range(len(tried[best]), seeds)]
        scores[model] = tried[best] + more
        test = Spread.of([score.test for score in scores[model]])
        print(f"{model}: chosen {_text(grid[best])}")
        spread = f" ± {100 * test.std:.1f} ({seeds} seeds)" if seeds > 1 else " (one seed)"
        print(f"{model}: test {metric} {100 * test.mean:.1f}{spread}", flush=True)
    for other in models[1:]:
        print(_verdict(scores, (models[0], other), metric, test_to_train))
    return scores


def _verdict(scores: Mapping[str, Sequence[Score]], models: tuple[str, str], metric: str, test_to_train: float) -> str:
    tests = {model: [score.test for score in scores[model]] for model in models}
    better, other = sorted(models, key=lambda model: sum(tests[model]), reverse=True)
    pair = compare(tests[better], tests[other], test_to_train)
    if len(tests[better]) == 1:
        return f"{better} is ahead of {other} by {100 * pair.difference:.1f} points of {metric}; one seed has no test"
    words = "is better than {}" if pair.t_test < CERTAIN else "is ahead of {}, but not clearly"
    return (
        f"{better} {words.format(other)}:\n  by {100 * pair.difference:.1f} points of {metric}, on {pair.wins} of "
        f"{len(tests[better])} seeds; paired t-test: p = {pair.t_test:.2g}"
    )


def _text(options: Options) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())
