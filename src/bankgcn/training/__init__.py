"""One model, one split: the objective, the metrics, the training, its checkpoint."""

from bankgcn.training.callbacks import Callback
from bankgcn.training.config import TrainConfig
from bankgcn.training.evaluation import Evaluation, embed, evaluate, predict_logits
from bankgcn.training.fitting import Epoch, FitResult, fit
from bankgcn.training.model import ModelConfig, TrainedModel

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
