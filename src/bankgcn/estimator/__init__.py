"""Networks with the interface of scikit-learn.

Needs scikit-learn: ``pip install 'bankgcn[sklearn]'``.
"""

from bankgcn.estimator.classifier import BankGCNClassifier
from bankgcn.estimator.regressor import BankGCNRegressor

__all__ = ["BankGCNClassifier", "BankGCNRegressor"]
