"""How a network is made and trained, and which graphs train it: frozen values, with the paper's as defaults.

Nothing here needs PyTorch until the network is built.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bankgcn.data import UnsuitableGraphs
from bankgcn.messages import Message, Option, advise
from bankgcn.metrics import METRICS
from bankgcn.nn.convs import MODELS, RIVALS
from bankgcn.nn.names import ACTIVATION_NAMES, EDGE_USES, HEADS, NORM_NAMES, POOLING_NAMES, READOUTS, REDUCTION_NAMES
from bankgcn.settings import check_settings, pick, plain_value, setting
from bankgcn.tasks import DEFAULT_METRIC, LOSSES

if TYPE_CHECKING:
    from torch import nn

    from bankgcn.data.catalog import Dataset
    from bankgcn.data.graphs import GraphSet
    from bankgcn.nn import GraphNetwork

_training = partial(setting, panel="Training")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    r"""The training protocol. The defaults are the paper's for the TU datasets.

    Args:
        learning_rate: Step size of the optimiser.
        weight_decay: What pulls weights towards 0; ``optimizer`` says how.
        gamma: Weight :math:`\gamma` of the diversity term in the objective (Eq. 20).
        coherence: Whether :math:`\Omega` is summed over the layers, or averaged.
        batch_size: Graphs per step.
        max_epochs: Most passes over the training graphs.
        patience: Epochs without improvement after which training stops.
        select: Which validation figure tells improvement, and picks the epoch that is kept: the task ``"loss"``, or the
            ``"score"`` of the metric.
        metric: How predictions are scored: a name in :data:`bankgcn.metrics.METRICS`. The default stands for the first
            metric of the task, whatever the task is.
        loss: What is minimised, see :data:`bankgcn.tasks.TASKS`; by default the first loss of the task.
        class_weight: ``"balanced"`` weighs the loss of each graph so that all classes count equally, or both answers
            of each label; see :class:`bankgcn.training.checks.LossWeights`. By default all graphs count equally.
        threshold: ``"validation"`` chooses the probability from which on the second one of two classes, or a label, is
            decided, by the validation graphs; see :func:`bankgcn.training.assessment.fit_thresholds`. By default what
            is most probable is decided.
        decay_patience: Epochs without improvement of the validation loss after which the learning rate falls;
            ``None`` keeps it.
        decay_factor: What it is multiplied by then.
        min_learning_rate: Where it stops falling.
        optimizer: ``"adam"``, which adds ``weight_decay`` times the parameters to the gradient of all of them, or
            ``"adamw"``, which takes the learning rate times ``weight_decay`` off the matrices in each step. Biases,
            normalisations and the coefficients of filters do not decay then.
        schedule: How the learning rate falls from step to step: it is ``"constant"``, or falls to ``min_learning_rate``
            along a half ``"cosine"`` over all epochs. ``decay_patience`` lowers the curve, too.
        warmup: Epochs in which the learning rate rises from step to step to its full value; the cosine follows.
        clip_norm: Largest norm of the gradient of all parameters in a step; larger ones are scaled down to it.
        freeze: Number of the first layers whose weights training leaves as they are, normalisation and encoder
            included. A run has such layers only if it starts with the weights of another one.
    """

    max_epochs: int = _training(500, "Most passes over the training graphs.", name="epochs", at_least=1)
    patience: int = _training(30, "Epochs without improvement after which training stops.", at_least=1)
    batch_size: int = _training(64, "Graphs in a step (of each process).", at_least=1)
    learning_rate: float = _training(1e-3, "Step size of the optimiser.", above=0)
    weight_decay: float = _training(0.0, "L2 penalty; with adamw, decoupled weight decay.", at_least=0)
    gamma: float = _training(0.1, "Weight of the filters' diversity, Omega (bank).", at_least=0)
    coherence: Literal["sum", "mean"] = _training(
        "sum", "How Omega of the layers is combined (bank):", choices=REDUCTION_NAMES, advanced=True
    )
    select: Literal["loss", "score"] = _training(
        "loss", "Validation figure that selects the epoch:", choices=("loss", "score"), advanced=True
    )
    metric: str = _training(
        DEFAULT_METRIC, "The score; the default stands for the first that fits the task:", choices=METRICS
    )
    loss: str | None = _training(
        None, "The loss; by default the first that fits the task:", choices=LOSSES, none="", advanced=True
    )
    class_weight: Literal["balanced"] | None = _training(
        None,
        "Weights of the classes in the loss; balanced: all classes, or both answers of a label, count equally:",
        none="none",
        choices=("balanced",),
    )
    threshold: Literal["validation"] | None = _training(
        None,
        "How a class of two, or a label, is decided; likely: what is most probable; validation: by a threshold that "
        "the validation graphs choose, as for your own data if one class has 80 %:",
        none="likely",
        choices=("validation",),
    )
    decay_patience: int | None = _training(
        None,
        "Epochs on a plateau of the validation loss after which the step size falls; 0: never.",
        none=0,
        at_least=0,
        advanced=True,
    )
    decay_factor: float = _training(0.1, "Factor by which it falls.", at_least=0, below=1, advanced=True)
    min_learning_rate: float = _training(1e-5, "Where it stops falling.", at_least=0, advanced=True)
    optimizer: Literal["adam", "adamw"] = _training(
        "adam",
        "The optimiser; adamw: weight decay of matrices alone, apart from the gradient:",
        choices=("adam", "adamw"),
        advanced=True,
    )
    schedule: Literal["constant", "cosine"] = _training(
        "constant",
        "How the learning rate falls from the first step to the last:",
        choices=("constant", "cosine"),
        advanced=True,
    )
    warmup: int = _training(0, "Epochs in which the learning rate rises to its full value.", at_least=0, advanced=True)
    clip_norm: float | None = _training(
        None, "Largest norm of a step's gradient; 0: any.", none=0.0, above=0, advanced=True
    )
    freeze: int = _training(
        0, "First layers that keep their weights, in a run that starts with those of another.", at_least=0
    )

    def __post_init__(self) -> None:
        check_settings(self)


DEVICES = ("cpu", "cuda")
"""Where networks compute. The compiled code is for the CPU; on a GPU, they train by autograd."""

_model = partial(setting, panel="Model")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What a network is made of. The defaults are the paper's.

    Args:
        conv: The convolution; see :class:`~bankgcn.nn.GraphNetwork`.
        conv_options: Its options where they differ from the defaults in :data:`bankgcn.nn.convs.CONVS`; afterwards all
            of them, so that equal networks have equal configurations.
        hidden_channels: Width of every hidden layer.
        num_layers: Number of convolutions.
        normalize: Where the normalisation stands: ``"before"`` or ``"after"`` the ReLU, or ``"none"``.
        norm: The kind of normalisation, a name in :data:`~bankgcn.nn.NORMS`. ``"none"`` becomes ``normalize="none"``,
            which means the same.
        readout: A name in :data:`~bankgcn.nn.READOUTS`, such as ``"mean_max"``.
        pooling: ``"topk"``, ``"sag"``, ``"asap"``, or none.
        scale_sum: Whether sums over nodes are divided by the mean size of the training graphs.
        residual: Whether each layer adds its input to its output.
        feed_forward: Width of the hidden layer of a feed-forward block after each layer, as a multiple of
            ``hidden_channels``; 0 for no blocks.
        dropout: Probability to drop an element in training.
        head: ``"linear"``, or ``"mlp"`` for a hidden layer before the output.
        edges: How the network uses features of edges: ``"weights"``, ``"input"`` or ``"both"``, see
            :class:`~bankgcn.nn.GraphNetwork`; ``"auto"``: both, if the convolution can, else as a part of the input;
            ``"none"``: not at all.
        embedding: Number of values of each column of integer signals, if the network learns a vector for each of them;
            see :class:`~bankgcn.nn.AtomEncoder`.
    """

    conv: str = _model(
        "bank",
        "The model: a network, by its convolution, or one of another kind (forest, wl-svm):",
        name="model",
        choices=MODELS,
    )
    conv_options: Mapping[str, Any] = field(default_factory=dict)
    hidden_channels: int = _model(64, "Width of every layer.", name="hidden", at_least=1)
    num_layers: int = _model(4, "Number of layers.", name="layers", at_least=1)
    normalize: Literal["before", "after", "none"] = _model(
        "before", "Where the normalisation stands, seen from the ReLU:", choices=ACTIVATION_NAMES, advanced=True
    )
    norm: Literal["l2", "layer", "graph", "batch", "none"] = _model(
        "l2", "Kind of normalisation; batch trains by autograd, which is slower:", choices=NORM_NAMES, advanced=True
    )
    readout: str = _model("mean_max", "From the nodes to the graph:", choices=READOUTS)
    scale_sum: bool = _model(False, "Divide sums over nodes by the mean size of the training graphs.", advanced=True)
    pooling: str | None = _model(None, "Pooling between the layers:", choices=POOLING_NAMES, none="none")
    residual: bool = _model(False, "Add the input of each layer to its output.")
    feed_forward: int = _model(
        0,
        "Feed-forward block after each layer, with a hidden layer this many times as wide as the layer; 0: none.",
        at_least=0,
        advanced=True,
    )
    dropout: float = _model(0.0, "Probability to drop an element in training.", at_least=0, below=1)
    head: Literal["linear", "mlp"] = _model(
        "linear", "From the graph to the output; mlp has a hidden layer:", choices=HEADS, advanced=True
    )
    edges: Literal["auto", "weights", "input", "both", "none"] = _model(
        "none",
        "How features of edges, such as bonds, are used; auto, as for your own data: as weights in the layers, if they "
        "can, and as a part of the input:",
        choices=("auto", *EDGE_USES),
    )
    embedding: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.conv in RIVALS:  # which have no layers: what describes them has one value
            _reset(self, kept=("conv", "conv_options", "edges"))
            object.__setattr__(self, "edges", "none" if self.edges == "none" else "auto")
        rows = MODELS[self.conv].options
        for name in self.conv_options:
            pick(rows, name, f"option of {self.conv}")
        options = {name: row.normalised(self.conv_options.get(name, row.default)) for name, row in rows.items()}
        for name, row in rows.items():
            row.check(name, options[name])
        object.__setattr__(self, "conv_options", MappingProxyType(options))
        if "none" in (self.norm, self.normalize):  # ReLU alone: one network has one configuration, that of old runs
            object.__setattr__(self, "norm", "l2")
            object.__setattr__(self, "normalize", "none")
        if MODELS[self.conv].needs_features and "weights" not in self.edge_uses:  # it is nothing without them
            object.__setattr__(self, "edges", "auto")
        if self.embedding is not None:
            object.__setattr__(self, "embedding", tuple(map(plain_value, self.embedding)))

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ModelConfig, **self.to_dict()), ()  # a mapping proxy can be neither copied nor pickled

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain values, as JSON and TOML hold them."""
        plain = {name: value for name, value in vars(self).items() if value is not None}
        plain["conv_options"] = dict(self.conv_options)
        if self.embedding is not None:
            plain["embedding"] = list(self.embedding)
        return plain

    @property
    def edge_uses(self) -> tuple[str, ...]:
        """The ways in which the network uses features of edges, among ``"weights"`` and ``"input"``."""
        if self.edges == "auto":
            takes_features = MODELS[self.conv].takes_features and self.pooling is None  # which makes new edges
            if takes_features and self.embedding is not None:
                return ("weights",)  # the executor has no sums beside a table of vectors
            # Weights alone cannot tell graphs apart whose edges are all of one kind: they are relative to the degrees.
            return ("weights", "input") if takes_features else ("input",)
        return EDGE_USES[self.edges]

    def edge_dim(self, graphs: GraphSet) -> int | None:
        """The number of features of edges that a network for these graphs uses; ``None`` if it uses none."""
        return (graphs.num_edge_features or None) if self.edge_uses else None

    def check(self, graphs: GraphSet) -> None:
        """Raise if the graphs have edge weights and networks of this kind cannot use them, or lack what they need."""
        self._check_edge_features(graphs)
        if graphs.edge_weight is not None and not MODELS[self.conv].takes_weights:
            models = ", ".join(sorted(name for name, conv in MODELS.items() if conv.takes_weights))
            cannot = (
                "{name} has edge weights, which the model {conv} cannot use{advice}; models that take weights: {models}"
            )
            advice = [advise("ignore_weights", True, "ignores them")]
            values = {"name": graphs.name or "the set", "conv": self.conv, "models": models}
            raise UnsuitableGraphs(Message(cannot, advice=advice, **values))

    def _check_edge_features(self, graphs: GraphSet) -> None:
        name, row = graphs.name or "the set", MODELS[self.conv]
        edges = Option("edges", self.edges)
        if self.edges not in ("auto", "none") and not graphs.num_edge_features:
            raise ValueError(Message("{edges}: the edges of {name} have no features", edges=edges, name=name))
        if "weights" in self.edge_uses and not row.takes_features:
            only = Option("edges", "input")
            cannot = "{edges}: {label} uses features of edges only as a part of its input, {only}"
            raise ValueError(Message(cannot, edges=edges, label=row.label, only=only))
        if row.needs_features and self.pooling is not None:
            alone = "{model} needs features of edges, which {pooling} removes"
            raise ValueError(
                Message(alone, model=Option("model", self.conv, field="conv"), pooling=Option("pooling", self.pooling))
            )
        if row.needs_features and not graphs.num_edge_features:
            lacks = "{model} needs features of edges, and those of {name} have none"
            raise ValueError(Message(lacks, model=Option("model", self.conv, field="conv"), name=name))

    def build(
        self, in_channels: int, out_channels: int, *, edge_dim: int | None = None, graph_dim: int = 0
    ) -> GraphNetwork:
        """A network of this kind, with fresh weights from torch's global generator.

        Args:
            in_channels: Width of the node signals.
            out_channels: Width of the output.
            edge_dim: Number of features of each edge, if the network uses them.
            graph_dim: Number of features of each graph.
        """
        from bankgcn.nn import AtomEncoder, GraphNetwork

        resolved = next(name for name, uses in EDGE_USES.items() if uses == self.edge_uses)
        encoder: nn.Module | None = None
        if self.embedding is not None:
            if len(self.embedding) != in_channels:
                raise ValueError(f"embedding has {len(self.embedding)} columns, but the signals have {in_channels}")
            encoder, in_channels = AtomEncoder(self.embedding, self.hidden_channels), self.hidden_channels
        return GraphNetwork(
            in_channels,
            out_channels,
            self.hidden_channels,
            self.num_layers,
            conv=self.conv,
            conv_options=self.conv_options,
            normalize=self.normalize,
            norm=self.norm,
            readout=self.readout,
            pooling=self.pooling,
            encoder=encoder,
            residual=self.residual,
            feed_forward=self.feed_forward,
            dropout=self.dropout,
            head=self.head,
            edge_dim=edge_dim,
            edges=resolved,
            graph_dim=graph_dim or None,
            scale_sum=self.scale_sum,
        )


def _reset(config: Any, kept: Container[str]) -> None:
    """Give all settings of a configuration but these their defaults."""
    for item in fields(config):
        if item.name not in kept:
            object.__setattr__(config, item.name, item.default)


RIVAL_TRAINING = ("metric", "class_weight", "threshold")
"""The settings of :class:`TrainConfig` that mean something to models that are no networks."""


def without_training(train: TrainConfig) -> TrainConfig:
    """The protocol of a model that no epochs train."""
    return TrainConfig(**{name: getattr(train, name) for name in RIVAL_TRAINING})


_split = partial(setting, panel="Split")
LEAST_FOLDS = 3  # one tests, one validates, one trains


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How the graphs of a run are split.

    Args:
        rule: ``"random"``: stratified by class. ``"scaffold"``: molecules with the same scaffold are in one part. By
            default the split that the authors of the dataset fixed, else random.
        split_column: Column of a table that holds the part of each graph (train, valid, test), or its fold.
        ratios: Shares of training, validation and test, such as ``"8,1,1"``; of training and validation if ``test``
            names the test graphs.
        folds: Number of folds of a cross-validation.
        fold: Number of the fold that tests, from 0; the next one validates.
        test: Source of the test graphs; then all other graphs train and validate.
        split_seed: What the split is drawn by; the seed of the run by default.
        duplicates: What to do about equal graphs. ``"keep"``: nothing. ``"group"``: they stay in one part, and test
            graphs of ``test`` that are equal to a training or validation graph are left out. ``"merge"``: they become
            one graph. By default ``"keep"`` for datasets of the catalogue, ``"group"`` for all others.
    """

    rule: str | None = _split(
        None,
        "How graphs are split; by default as the authors of the dataset did, else random:",
        name="split",
        choices=("random", "scaffold"),
        none="",
    )
    split_column: str | None = _split(
        None, "Column of a table that holds the part (train, valid, test) or fold of each graph.", none=""
    )
    ratios: str | None = _split(
        None,
        "Shares of training, validation and test: 8,1,1 by default; two if test graphs have a source of their own.",
        none="",
    )
    folds: int | None = _split(
        None, "Cross-validation with this number of folds; a model for each.", none=0, at_least=LEAST_FOLDS
    )
    fold: int | None = _split(
        None, "Train only the model that is tested on this fold, counted from 0.", none=-1, at_least=0, advanced=True
    )
    test: str | None = _split(None, "Test graphs from a source of their own.", none="")
    split_seed: int | None = _split(
        None, "Number of the split; by default that of the run.", none=-1, at_least=0, advanced=True
    )
    duplicates: str | None = _split(
        None,
        "Equal graphs: keep them, keep them in one part, or merge them into one; by default keep for datasets of the "
        "catalogue, else group:",
        choices=("keep", "group", "merge"),
        none="",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        _ = self.shares
        if self.fold is not None and (self.folds is None or self.fold >= self.folds):
            options: dict[str, Any] = {"fold": Option("fold", self.fold), "folds": Option("folds")}
            raise ValueError(Message("{fold}: expected {folds}, and a number from 0 that is smaller", **options))
        given = [Option(name) for name, value in self._ways().items() if value]
        if len(given) > 1:
            one, other, *_ = given
            raise ValueError(Message("{one} and {other} contradict each other: choose one", one=one, other=other))

    def _ways(self) -> dict[str, bool]:
        """What decides the part of a graph: at most one of each may be given."""
        return {
            "ratios": self.ratios is not None,
            "folds": self.folds is not None and self.split_column is None,
            "split_column": self.split_column is not None,
        }

    def keeps_official(self, entry: Dataset | None) -> bool:
        """Whether a dataset is split as its authors did: they fixed a split, and no option draws another."""
        official = entry is not None and entry.split == "official"
        return official and self.rule is None and self.ratios is None and self.folds is None

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of training, validation and test."""
        if self.ratios is None:
            return (8, 1, 0) if self.test else (8, 1, 1)
        from bankgcn.data.splits import shares

        try:
            numbers = tuple(float(part) for part in self.ratios.replace(":", ",").split(","))
            if len(numbers) != (2 if self.test else 3):
                raise ValueError
            train, valid, test = (*numbers, 0.0) if self.test else numbers
            shares((train, valid, test))
        except ValueError:
            expected = "two numbers such as 8,1, because {test} names the test graphs" if self.test else "8,1,1"
            options: dict[str, Any] = {"ratios": Option("ratios", self.ratios), "test": Option("test")}
            raise ValueError(Message("{ratios}: expected shares from 0, for example " + expected, **options)) from None
        return train, valid, test
