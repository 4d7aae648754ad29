"""What trials vary: one row for each setting."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from bankgcn.nn.convs import RIVALS
from bankgcn.settings import Plain

if TYPE_CHECKING:
    from optuna.trial import Trial

DIGITS = 3
"""Significant digits of a number from a range: all that matters, and short enough to be typed."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A setting that trials vary: it has either choices or a range.

    Args:
        name: Name of the setting, as flags and files spell it.
        choices: The values to choose from.
        low: Smallest number of a range.
        high: Largest number of a range.
        log: Whether the logarithm of the number is uniform.
        models: The models that have the setting; all by default.
        divides: Name of the setting that the values must divide.
    """

    name: str
    choices: tuple[Plain, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    models: tuple[str, ...] = ()
    divides: str = ""

    def allows(self, value: Plain) -> bool:
        """Whether a trial may choose the value."""
        return value in self.choices if self.choices else self.low <= float(value) <= self.high

    def suggest(self, trial: Trial) -> Plain:
        """The value of a trial."""
        if self.choices:
            return cast(Plain, trial.suggest_categorical(self.name, self.choices))
        if isinstance(self.low, int):
            return trial.suggest_int(self.name, self.low, int(self.high), log=self.log)
        return float(f"{trial.suggest_float(self.name, self.low, self.high, log=self.log):.{DIGITS}g}")


SPACE: tuple[Parameter, ...] = (
    Parameter(name="order", low=1, high=5, models=("bank", "cheb")),
    Parameter(name="subspaces", choices=(1, 2, 4, 8, 16), models=("bank",), divides="hidden"),
    Parameter(name="gamma", choices=(0.0, 0.01, 0.1, 1.0, 10.0), models=("bank",)),
    Parameter(name="heads", choices=(1, 2, 4, 8), models=("gat",), divides="hidden"),
    Parameter(name="hidden", choices=(32, 64, 128)),
    Parameter(name="layers", low=2, high=6),
    Parameter(name="norm", choices=("l2", "layer", "graph", "none")),
    Parameter(name="normalize", choices=("before", "after")),
    Parameter(name="readout", choices=("mean_max", "mean", "max", "sum", "mean_max_sum")),
    Parameter(name="residual", choices=(False, True)),
    Parameter(name="dropout", choices=(0.0, 0.1, 0.2, 0.3, 0.5)),
    Parameter(name="learning_rate", low=1e-4, high=1e-2, log=True),
    Parameter(name="weight_decay", choices=(0.0, 1e-5, 1e-4, 1e-3)),
)


def parameters_for(model: str, fixed: Mapping[str, Plain]) -> tuple[Parameter, ...]:
    """The settings that trials of a model vary.

    Args:
        model: Name of the model.
        fixed: Settings that the user has chosen; trials do not vary them.

    Raises:
        ValueError: There is nothing left to vary, or no value of a setting fits the fixed ones.
    """
    if model in RIVALS:
        raise ValueError(
            f"{model} has no settings that trials vary: bankgcn train SOURCE --model {model} trains it, and bankgcn "
            f"compare SOURCE --models bank,{model} compares it"
        )
    rows = [row for row in SPACE if model in (row.models or (model,))]
    parameters = tuple(_fitting(row, rows, fixed) for row in rows if row.name not in fixed)
    if not parameters:
        raise ValueError(f"every setting that trials of {model} could vary is fixed: leave out some of the options")
    return parameters


def _fitting(row: Parameter, rows: Collection[Parameter], fixed: Mapping[str, Plain]) -> Parameter:
    """The row with the values that divide a fixed setting, and that fixed settings divide, where they must."""
    wholes = [int(fixed[row.divides])] if row.divides in fixed else []
    parts = {other.name: int(fixed[other.name]) for other in rows if other.divides == row.name and other.name in fixed}
    if not wholes and not parts:
        return row
    fits = tuple(
        value
        for value in row.choices
        if all(whole % int(value) == 0 for whole in wholes) and all(int(value) % part == 0 for part in parts.values())
    )
    if not fits:
        combination = ", ".join(f"{name}={part}" for name, part in parts.items())
        raise ValueError(
            f"{combination} divides no {row.name} that trials choose from ({', '.join(map(str, row.choices))}): "
            f"choose it, too (--{row.name})"
        )
    return replace(row, choices=fits)


def names_of(parameters: Collection[Parameter]) -> list[str]:
    """The names of the settings that trials vary."""
    return [row.name for row in parameters]
