"""What is learned: the convolution, its diversity, the network, and the convolutions that it is compared with."""

from typing import TYPE_CHECKING

from bankgcn.extras import lazy_names

if TYPE_CHECKING:
    from bankgcn.nn.activation import NORMS, GraphNorm
    from bankgcn.nn.bank_conv import BankConv, mutual_coherence
    from bankgcn.nn.budget import layer_parameters, width_for_budget
    from bankgcn.nn.convs import CONVS, PLAIN_CONVS, ConvSpec
    from bankgcn.nn.layers import AtomEncoder
    from bankgcn.nn.message_passing import MessageBankConv, explainable
    from bankgcn.nn.names import READOUTS
    from bankgcn.nn.network import BankGCN, GraphNetwork, check_available
    from bankgcn.nn.readout import POOLINGS, READOUT_PARTS

__all__ = [
    "CONVS",
    "NORMS",
    "PLAIN_CONVS",
    "POOLINGS",
    "READOUTS",
    "READOUT_PARTS",
    "AtomEncoder",
    "BankConv",
    "BankGCN",
    "ConvSpec",
    "GraphNetwork",
    "GraphNorm",
    "MessageBankConv",
    "check_available",
    "explainable",
    "layer_parameters",
    "mutual_coherence",
    "width_for_budget",
]

__getattr__ = lazy_names(
    __name__,
    {
        "activation": ("GraphNorm", "NORMS"),
        "bank_conv": ("BankConv", "mutual_coherence"),
        "budget": ("layer_parameters", "width_for_budget"),
        "convs": ("CONVS", "PLAIN_CONVS", "ConvSpec"),
        "layers": ("AtomEncoder",),
        "message_passing": ("MessageBankConv", "explainable"),
        "names": ("READOUTS",),
        "network": ("BankGCN", "GraphNetwork", "check_available"),
        "readout": ("POOLINGS", "READOUT_PARTS"),
    },
)
