"""The parameters of the estimators: the settings of a run, under the names of the command line's flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.random import RandomState
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from bankgcn.data.options import ReadOptions
from bankgcn.settings import plain_value
from bankgcn.training.spec import (
    BANK_ONLY,
    IN_PYTHON,
    PLACES,
    SOURCE,
    RunSpec,
    complete_settings,
    given_settings,
    settings_of_run,
    spec_of,
)

LARGEST_SEED = 2**31 - 1
NO_SETTINGS = ("attributes", "categories", "validation_fraction", "threshold")
"""Parameters that no setting of a run holds as they are: a trained model keeps them."""
AUTO = "auto"
"""The threshold is chosen by the validation graphs where the targets are skewed."""


class RunParameters(BaseEstimator):
    """The parameters that both estimators have. The defaults are the paper's."""

    def __init__(
        self,
        *,
        model: str = "bank",
        hidden: int = 64,
        layers: int = 4,
        normalize: str = "before",
        norm: str = "l2",
        readout: str = "mean_max",
        pooling: str | None = None,
        residual: bool = False,
        dropout: float = 0.0,
        head: str = "linear",
        order: int | None = None,
        subspaces: int | None = None,
        basis: str | None = None,
        projection: str | None = None,
        shortcut: bool | None = None,
        bias: bool | None = None,
        initial_alpha: str | None = None,
        heads: int | None = None,
        epochs: int = 500,
        patience: int = 30,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        gamma: float = 0.1,
        coherence: str = "sum",
        select: str = "loss",
        metric: str = "accuracy",
        loss: str | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        threshold: str | None = "auto",
        decay_patience: int | None = None,
        decay_factor: float = 0.1,
        min_learning_rate: float = 1e-5,
        features: str | None = None,
        scale: str | None = None,
        attributes: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        symmetrise: bool = False,
        ignore_weights: bool = False,
        duplicates: str | None = None,
        validation_fraction: float = 0.1,
        random_state: int | RandomState | None = None,
    ):
        self.model = model
        self.hidden = hidden
        self.layers = layers
        self.normalize = normalize
        self.norm = norm
        self.readout = readout
        self.pooling = pooling
        self.residual = residual
        self.dropout = dropout
        self.head = head
        self.order = order
        self.subspaces = subspaces
        self.basis = basis
        self.projection = projection
        self.shortcut = shortcut
        self.bias = bias
        self.initial_alpha = initial_alpha
        self.heads = heads
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.gamma = gamma
        self.coherence = coherence
        self.select = select
        self.metric = metric
        self.loss = loss
        self.class_weight = class_weight
        self.threshold = threshold
        self.decay_patience = decay_patience
        self.decay_factor = decay_factor
        self.min_learning_rate = min_learning_rate
        self.features = features
        self.scale = scale
        self.attributes = attributes
        self.categories = categories
        self.symmetrise = symmetrise
        self.ignore_weights = ignore_weights
        self.duplicates = duplicates
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _spec(self, task: str) -> RunSpec:
        """The run that the parameters describe.

        Raises:
            ValueError: A value is of the wrong type, out of range, or not one of the model's options.
        """
        values = self.get_params(deep=False)
        if isinstance(self.class_weight, Mapping):
            if task != "classes":
                raise ValueError(f"class_weight={self.class_weight} needs classes, but the task is {task}")
            values["class_weight"] = None  # the classifier makes weights of graphs of it
        if self.threshold == AUTO:
            values["threshold"] = None  # the classifier chooses by its targets
        unused = BANK_ONLY if self.model != "bank" else ()  # they have defaults, so that they are always there
        given = {
            name: PLACES[name].setting.plain(plain_value(values[name]))
            for name in PLACES
            if name in values and name not in unused and not (_is_option(name) and values[name] is None)
        }
        given = given_settings({**given, "task": task, "seed": plain_value(_seed(self.random_state))})
        return spec_of(IN_PYTHON, complete_settings({SOURCE: IN_PYTHON, **given}))

    def _read_options(self) -> ReadOptions:
        return ReadOptions(
            features=self.features,
            attributes=self.attributes,
            categories=self.categories,
            symmetrise=self.symmetrise,
        )

    @classmethod
    def _parameters_of(cls, spec: RunSpec) -> dict[str, Any]:
        """The parameters that describe a run, as far as estimators have them."""
        values = settings_of_run(spec)
        parameters: dict[str, Any] = {"random_state": spec.seed}
        for name in (name for name in cls._get_param_names() if name in values):
            row = PLACES[name].setting
            if not (_is_option(name) and values[name] == row.default):
                parameters[name] = row.parsed(values[name])
        return parameters


def _is_option(name: str) -> bool:
    """Whether a parameter belongs to some convolutions only; ``None`` is then the default of the convolution."""
    return PLACES[name].part == "conv_options"


def _seed(random_state: int | RandomState | None) -> int:
    """The seed of the run: a number as it is, else drawn as scikit-learn's estimators do."""
    if random_state is None or isinstance(random_state, RandomState):
        return int(check_random_state(random_state).randint(LARGEST_SEED))
    return random_state
