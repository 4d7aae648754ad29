"""One model, one split: the objective, the metrics, the training, its checkpoint."""

from typing import TYPE_CHECKING

from bankgcn.extras import lazy_names

if TYPE_CHECKING:
    from bankgcn.training.callbacks import Callback
    from bankgcn.training.config import ModelConfig, TrainConfig
    from bankgcn.training.evaluation import Evaluation, embed, evaluate, predict_logits
    from bankgcn.training.fitting import Epoch, FitResult, fit
    from bankgcn.training.model import TrainedModel

__all__ = [
    "Callback",
    "Epoch",
    "Evaluation",
    "FitResult",
    "ModelConfig",
    "TrainConfig",
    "TrainedModel",
    "embed",
    "evaluate",
    "fit",
    "predict_logits",
]

__getattr__ = lazy_names(
    __name__,
    {
        "callbacks": ("Callback",),
        "config": ("ModelConfig", "TrainConfig"),
        "evaluation": ("Evaluation", "embed", "evaluate", "predict_logits"),
        "fitting": ("Epoch", "FitResult", "fit"),
        "model": ("TrainedModel",),
    },
)
