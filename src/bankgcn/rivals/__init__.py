"""Models that are no networks, on equal terms with them: a forest, and a kernel of graphs with support vectors.

scikit-learn fits them; a trained one is applied from its arrays, without it. The rows that settings and tables need are
in :data:`bankgcn.nn.convs.RIVALS`.
"""

from bankgcn.rivals.base import Layout, Lesson, Rival
from bankgcn.rivals.forest import Forest
from bankgcn.rivals.kernel_machine import KernelMachine

__all__ = ["RIVAL_TYPES", "Forest", "KernelMachine", "Layout", "Lesson", "Rival"]

RIVAL_TYPES: dict[str, type[Rival]] = {"forest": Forest, "wl-svm": KernelMachine}
"""What each row of :data:`bankgcn.nn.convs.RIVALS` makes."""
