"""Which part of the paper is meant."""

from __future__ import annotations

from bankgcn.cli.paper_options import Part


def test_datasets_that_there_are_not_are_left_out() -> None:
    part, left_out = Part().among("table1", {"NCI1", "DD"}.__contains__)
    assert part.datasets == "DD,NCI1"
    assert left_out == ["ENZYMES", "PROTEINS", "NCI109", "Mutagenicity", "FRANKENSTEIN"]


def test_a_stand_in_is_not_left_out() -> None:
    part, left_out = Part().among("figure3", {"NCI109", "FRANKENSTEIN-rebuilt"}.__contains__)
    assert (part.datasets, left_out) == ("NCI109,FRANKENSTEIN-rebuilt", [])


def test_named_datasets_are_kept_whether_or_not_they_are_there() -> None:
    assert Part(datasets="NCI1").among("table1", set().__contains__) == (Part(datasets="NCI1"), [])


def test_columns_of_one_dataset_come_and_go_together() -> None:
    part, left_out = Part().among("table4", {"CIFAR-10"}.__contains__)
    assert (part.datasets, left_out) == ("CIFAR-10,CIFAR-10-1000", ["ogbg-molhiv"])


def test_others_are_added_where_they_can_stand() -> None:
    has = {"NCI1", "MUTAG"}
    assert Part().among("table1", has.__contains__, others=has)[0].datasets == "NCI1,MUTAG"
    assert Part().among("table4", has.__contains__, others=has)[0].datasets is None
