"""Explain predictions of BankGCN with PyG's GNNExplainer, beside the exact contributions of bankgcn.

GNNExplainer learns masks of the nodes and of the edges that keep the prediction; ``explainable`` makes layers that take
masks of edges. The exact contributions need no learning: the logits of BankGCN are sums over the nodes.

    python examples/pyg_explainer.py [--epochs 60] [--graph 0]
"""

from __future__ import annotations

import argparse

import torch
from torch_geometric.explain import Explainer, GNNExplainer

from bankgcn import BankGCNClassifier
from bankgcn.data.builtin import mutag
from bankgcn.explain import evidence, explain
from bankgcn.nn import explainable
from bankgcn.report.page.drawing import node_words


def main() -> None:
    """Train on MUTAG, explain one molecule in both ways, and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60, help="of the training")
    parser.add_argument("--graph", type=int, default=0, help="number of the molecule in MUTAG")
    arguments = parser.parse_args()

    graphs = mutag()
    classifier = BankGCNClassifier(hidden=32, layers=3, epochs=arguments.epochs, edges="none", random_state=0)
    classifier.fit(graphs, graphs.y)
    model, molecule = classifier.model_, graphs[[arguments.graph]]
    predicted = int(model.predictions(molecule).argmax())

    explainer = Explainer(
        explainable(model.net),
        GNNExplainer(epochs=100),
        explanation_type="model",
        node_mask_type="object",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )
    batch = molecule.batch()
    torch.manual_seed(0)
    explanation = explainer(batch.x, batch.edge_index, batch=batch.batch)
    mask = explanation.node_mask.ravel()

    exact = evidence(model.task, explain(model, molecule).nodes, predicted)
    print(f"molecule {arguments.graph}: class {model.task.names[predicted]}; what decided, the strongest atoms first")
    print("atom  element  exact contribution  mask of GNNExplainer")
    words = node_words(molecule) or []
    for node in exact.abs().argsort(descending=True).tolist():
        print(f"{node:>4}  {words[node]:<7}  {exact[node]:>+18.4f}  {mask[node]:>20.4f}")
    print("\nbond  atoms      mask of GNNExplainer, from the first atom to the second")
    for edge in explanation.edge_mask.argsort(descending=True)[:5].tolist():
        one, other = batch.edge_index[:, edge].tolist()
        atoms = f"{words[one]}{one} - {words[other]}{other}"
        print(f"{edge:>4}  {atoms:<9}  {explanation.edge_mask[edge]:>8.4f}")


if __name__ == "__main__":
    main()
