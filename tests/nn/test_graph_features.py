"""Features of graphs join the representation before the head."""

from __future__ import annotations

import pytest
import torch

from bankgcn.nn import BankGCN
from strategies import ring, signals


def network(**options) -> BankGCN:
    torch.manual_seed(0)
    return BankGCN(4, 3, hidden_channels=8, num_layers=2, graph_dim=5, **options).double()


def test_the_head_takes_the_representation_and_then_the_features() -> None:
    net, x, features = network(), signals(6, 4), signals(1, 5, seed=1)
    embedding = net.graph_embedding(x, ring(6))
    expected = net.predict.weight @ torch.cat([embedding, features], 1)[0] + net.predict.bias
    torch.testing.assert_close(net(x, ring(6), graph_attr=features)[0], expected)
    assert net.embedding_channels == embedding.size(1) == net.predict.in_features - 5


def test_a_hidden_layer_takes_them_too() -> None:
    net, x, features = network(head="mlp"), signals(6, 4), signals(1, 5, seed=1)
    embedding = net.graph_embedding(x, ring(6))
    hidden = torch.relu(net.head.weight @ torch.cat([embedding, features], 1)[0] + net.head.bias)
    expected = net.predict.weight @ hidden + net.predict.bias
    torch.testing.assert_close(net(x, ring(6), graph_attr=features)[0], expected)
    assert net.embedding_channels == embedding.size(1) == net.head.in_features - 5


def test_dropout_leaves_the_features() -> None:
    net, features = network(dropout=0.9).train(), torch.ones(1, 5, dtype=torch.float64)
    with torch.no_grad():
        net.predict.weight[:, : net.embedding_channels] = 0
    outputs = [net.predict_from(torch.ones(1, net.embedding_channels).double(), key, features) for key in range(9)]
    for output in outputs:
        torch.testing.assert_close(output, outputs[0])


def test_a_network_without_features_has_the_same_first_weights_as_before() -> None:
    torch.manual_seed(0)
    one = BankGCN(4, 3)
    torch.manual_seed(0)
    other = BankGCN(4, 3, graph_dim=None)
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])


@pytest.mark.parametrize(
    ("shape", "named"), [((1, 4), r"\(1, 4\).*\(1, graph_dim=5\)"), ((2, 5), r"\(2, 5\)"), ((5,), r"\(5,\)")]
)
def test_features_of_another_shape_are_refused(shape: tuple[int, ...], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        network()(signals(6, 4), ring(6), graph_attr=torch.ones(shape))


def test_features_must_be_given_if_and_only_if_the_network_takes_them() -> None:
    with pytest.raises(ValueError, match="graph_dim=5: it needs graph_attr"):
        network()(signals(6, 4), ring(6))
    with pytest.raises(ValueError, match="graph_dim=None: it takes no graph_attr"):
        BankGCN(4, 3).double()(signals(6, 4), ring(6), graph_attr=torch.ones(1, 5))
    with pytest.raises(ValueError, match="graph_dim=0"):
        BankGCN(4, 3, graph_dim=0)
