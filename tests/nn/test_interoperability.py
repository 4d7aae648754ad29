"""Layer and network work with PyTorch's and PyG's tools: sparse inputs, lazy widths, copies, compilers, files."""

from __future__ import annotations

import copy
import io
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.nn import Sequential

from bankgcn import BankConv, BankGCN, GraphShift
from bankgcn.spectral import BASES
from refusals import refused
from strategies import disjoint_union, ring, signals

Batched = tuple[Tensor, Tensor, Tensor]

ignores_compiler_warnings = pytest.mark.filterwarnings(  # of torch.compile and the ONNX exporter
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)


OPTIONS = [
    {},
    {"norm": "graph", "residual": True, "feed_forward": 1, "dropout": 0.2, "head": "mlp"},
    {"norm": "layer"},
    {"norm": "batch"},
]


def rings(*sizes: int) -> Batched:
    """Signals, edges and batch of some rings, with a duplicate edge and a self-loop."""
    edges, batch = disjoint_union([ring(n) for n in sizes], list(sizes))
    unusual = torch.tensor([[0, 1, 2], [1, 0, 2]])
    return signals(sum(sizes), 3).to(torch.get_default_dtype()), torch.cat([edges, unusual], dim=1), batch


def test_every_form_of_the_edges_gives_the_same_result() -> None:
    n, conv = 6, BankConv(3, 8)
    x, edges = signals(n, 3), ring(n)
    expected = conv(x, edges)
    coo = torch.sparse_coo_tensor(edges, torch.ones(2 * n), (n, n), check_invariants=True)
    for form in (EdgeIndex(edges), EdgeIndex(edges, sparse_size=(n, n), is_undirected=True), coo, coo.to_sparse_csr()):
        torch.testing.assert_close(conv(x, form), expected)
    torch.testing.assert_close(conv(x, GraphShift.from_edges(edges, num_nodes=n)), expected)


def test_layer_works_in_pygs_containers() -> None:
    model = Sequential(
        "x, edge_index, edge_weight",
        [
            (BankConv(3, 16), "x, edge_index, edge_weight -> x"),
            torch.nn.ReLU(),
            (BankConv(16, 8), "x, edge_index -> x"),
        ],
    )
    graphs = [Data(x=signals(n, 3), edge_index=ring(n), edge_weight=torch.ones(2 * n)) for n in (4, 5)]
    batch = Batch.from_data_list(graphs)
    assert model(batch.x, batch.edge_index, batch.edge_weight).shape == (9, 8)
    assert BankGCN(3, 2)(batch.x, batch.edge_index, batch.batch, batch.edge_weight).shape == (2, 2)


@pytest.mark.parametrize(("width", "num_subspaces"), [(3, 8), (1, 16)])
@pytest.mark.parametrize("projection", ["linear", "mlp"])
def test_lazy_width_is_inferred_from_the_first_input(width: int, num_subspaces: int, projection: str) -> None:
    conv = BankConv(-1, 16, projection=projection)
    parameters = list(conv.parameters())
    torch.manual_seed(3)
    out = conv(signals(5, width), ring(5))
    assert conv.in_channels == width
    assert conv.num_subspaces == num_subspaces
    assert conv.alpha.shape == (num_subspaces, 3)
    assert out.shape == (5, 16)
    out.sum().backward()
    assert all(p is q for p, q in zip(parameters, conv.parameters(), strict=True))  # an optimizer may already hold them
    assert all(p.grad is not None for p in parameters)
    with refused(ValueError, "x", "7 channels", in_channels=width):
        conv(signals(5, 7), ring(5))


def test_a_lazy_layer_can_be_cast_copied_and_loaded_before_its_first_input() -> None:
    trained = BankConv(1, 16)
    lazy = copy.deepcopy(BankConv(-1, 16)).to(torch.float64)
    lazy.reset_parameters()
    lazy.load_state_dict(trained.state_dict())
    x = signals(5, 1)
    assert torch.equal(lazy(x, ring(5)), trained(x, ring(5)))
    assert (lazy.in_channels, lazy.num_subspaces) == (1, 16)


def test_a_lazy_network_learns() -> None:
    net = BankGCN(-1, 2)
    x, edges, batch = rings(4, 5)
    net(x, edges, batch).sum().backward()
    assert net.convs[0].in_channels == 3


@pytest.mark.parametrize("basis", BASES)
def test_a_network_built_on_the_meta_device_can_be_loaded_on_another(basis: str) -> None:
    expected, data = BankGCN(3, 2, hidden_channels=16, basis=basis), rings(4, 5)
    with torch.device("meta"):
        net = BankGCN(3, 2, hidden_channels=16, basis=basis)
    net.to_empty(device="cpu").load_state_dict(expected.state_dict())
    assert torch.equal(net(*data), expected(*data))
    net.reset_parameters()
    assert net(*data).isfinite().all()
    assert net.convs[0].response(torch.linspace(0, 2, 5)).isfinite().all()


def test_state_survives_a_round_trip() -> None:
    net, other = BankGCN(3, 2), BankGCN(3, 2)
    data = rings(4, 5)
    assert not torch.equal(net(*data), other(*data))
    buffer = io.BytesIO()
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(net(*data), other(*data))
    assert set(net.state_dict()) == {name for name, _ in net.named_parameters()}


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_equal_and_independent(clone) -> None:
    net, data = BankGCN(3, 2, basis="bernstein"), rings(4, 5)
    other = clone(net)
    assert torch.equal(other(*data), net(*data))
    torch.nn.init.zeros_(other.convs[0].alpha)
    assert not torch.equal(other(*data), net(*data))


def test_single_and_double_precision_agree() -> None:
    net, (x, edges, batch) = BankGCN(3, 2), rings(4, 5)
    double = net(x, edges, batch)
    single = net.float()(x.float(), edges, batch)
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(single.double(), double, atol=1e-5, rtol=1e-5)


def test_autocast_to_bfloat16_trains() -> None:
    net, (x, edges, batch) = BankGCN(3, 2).float(), rings(4, 5)
    exact = net(x.float(), edges, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x.float(), edges, batch)
        omega = net.coherence()
    (out.float().sum() + omega).backward()
    assert out.dtype == torch.bfloat16
    assert omega.dtype == torch.float32  # the coherence keeps its precision
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())
    torch.testing.assert_close(out.float(), exact, atol=0.05, rtol=0.05)


def test_per_graph_gradients_through_torch_func() -> None:
    conv, x = BankConv(3, 8), signals(5, 3)
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    parameters = dict(conv.named_parameters())

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(conv, parameters, (x, shift)).square().sum()

    gradients = torch.func.grad(loss)(parameters)
    loss(parameters).backward()
    for name, parameter in conv.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad)


@pytest.mark.parametrize("transform", [torch.func.hessian, torch.func.jacfwd, torch.func.jacrev])
def test_derivatives_by_torch_func_equal_those_of_autograd(transform) -> None:
    net, (x, edges, batch) = BankGCN(3, 2, hidden_channels=8, num_layers=2).eval(), rings(4, 3)

    def loss(x: Tensor) -> Tensor:
        return net(x, edges, batch).square().sum()

    hessian = transform is torch.func.hessian
    expected = torch.autograd.functional.hessian(loss, x) if hessian else torch.autograd.functional.jacobian(loss, x)
    torch.testing.assert_close(transform(loss)(x), expected)


def test_many_signals_on_one_graph_by_vmap() -> None:
    net, (x, edges, batch) = BankGCN(3, 2, hidden_channels=8).eval(), rings(4, 3)
    many = torch.stack([x, 2 - x, x * x])
    together = torch.func.vmap(lambda signals: net(signals, edges, batch))(many)
    torch.testing.assert_close(together, torch.stack([net(signals, edges, batch) for signals in many]))


def compiled_equals_eager(backend: str) -> None:
    """Values and gradients of layer and network, compiled as one graph, on batches of several sizes."""
    torch._dynamo.reset()
    conv, net = BankConv(3, 8).float(), BankGCN(3, 2, hidden_channels=16, num_layers=2).float()
    fast_conv = torch.compile(conv, backend=backend, fullgraph=True, dynamic=True)
    fast_net = torch.compile(net, backend=backend, fullgraph=True, dynamic=True)
    for sizes in ((4, 5), (6, 3), (7, 5)):
        x, edges, batch = rings(*sizes)
        x = x.float().requires_grad_()
        shift = GraphShift.from_edges(edges, num_nodes=len(x), dtype=torch.float32)
        torch.testing.assert_close(fast_conv(x, edges), conv(x, edges))
        torch.testing.assert_close(fast_conv(x, shift), conv(x, shift))
        slow, fast = (model(x, edges, batch, batch_size=2) for model in (net, fast_net))
        torch.testing.assert_close(fast, slow)
        inputs = [x, *net.parameters()]
        for one, other in zip(
            torch.autograd.grad(fast.sum(), inputs), torch.autograd.grad(slow.sum(), inputs), strict=True
        ):
            torch.testing.assert_close(one, other)


@ignores_compiler_warnings
def test_compiles_as_one_graph() -> None:
    compiled_equals_eager("aot_eager")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile's default backend needs a C++ compiler")
@ignores_compiler_warnings
def test_compiles_to_machine_code() -> None:
    compiled_equals_eager("inductor")


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_traces_for_other_signals_on_the_same_graphs(grad: bool) -> None:
    net, (x, edges, batch) = BankGCN(3, 2, hidden_channels=16).eval(), rings(5, 4, 7)
    with torch.set_grad_enabled(grad):
        traced = torch.jit.trace(net, (x, edges, batch))
        torch.testing.assert_close(traced(2 - x, edges, batch), net(2 - x, edges, batch))


def exported(net: BankGCN) -> torch.export.ExportedProgram:
    dynamic = torch.export.Dim.DYNAMIC
    shapes = {"x": {0: dynamic}, "edge_index": {1: dynamic}, "batch": {0: dynamic}}
    return torch.export.export(net, rings(5, 4, 7), dynamic_shapes=shapes)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_exports_for_batches_of_any_size(options: dict) -> None:
    net = BankGCN(3, 2, hidden_channels=16, **options).eval()
    program = exported(net)
    for sizes in ((6, 3, 9, 4, 8), (3,)):
        torch.testing.assert_close(program.module()(*rings(*sizes)), net(*rings(*sizes)))


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
@ignores_compiler_warnings
def test_onnx_file_gives_the_same_logits_for_batches_of_any_size(tmp_path: Path, options: dict) -> None:
    import onnxruntime

    torch.set_default_dtype(torch.float32)
    net = BankGCN(3, 2, hidden_channels=16, **options).eval()  # with the maximum in its readout
    torch.onnx.export(exported(net), dynamo=True, verbose=False).save(tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    for sizes in ((6, 3, 9, 4, 8), (3,)):
        data = rings(*sizes)
        inputs = {name: tensor.numpy() for name, tensor in zip(("x", "edge_index", "batch"), data, strict=True)}
        (logits,) = session.run(None, inputs)
        torch.testing.assert_close(torch.from_numpy(logits), net(*data), atol=1e-5, rtol=1e-5)
