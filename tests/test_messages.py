"""Messages that name options, as each front spells them."""

from __future__ import annotations

import pickle

from bankgcn.cli.errors import with_flags
from bankgcn.data import GraphError
from bankgcn.files.checked import FileError
from bankgcn.messages import WITHOUT_ADVICE, Message, Option, Spelling, advise, parameter, spelled_error

LAYERS = Option("layers", 0, field="num_layers")


def test_each_front_has_its_own_name_for_an_option() -> None:
    message = Message(
        "{layers}: expected at least {least}, or {ratios}", layers=LAYERS, least=1, ratios=Option("ratios")
    )
    assert message == "num_layers=0: expected at least 1, or ratios="
    assert message.spelled(Spelling(parameter)) == "layers=0: expected at least 1, or ratios="
    assert with_flags(message) == "--layers 0: expected at least 1, or --ratios"


def test_a_message_is_spelled_alike_in_another_process() -> None:
    advice = [advise("skip_missing", True, "leaves them out")]
    message = Message(
        "{{text}} with {ratios}{advice}: {inner}", ratios=Option("ratios"), advice=advice, inner=Message("x")
    )
    copy = pickle.loads(pickle.dumps(message))
    assert copy == message == "{text} with ratios= (skip_missing=True leaves them out): x"
    assert with_flags(copy) == with_flags(message) == "{text} with --ratios (--skip-missing leaves them out): x"


def test_advice_on_options_that_a_front_lacks_is_left_out() -> None:
    advice = [advise("symmetrise", True, "adds them"), advise("ignore_weights", True, "ignores them")]
    message = Message("an edge has no reverse{advice}; see the file", advice=advice)
    assert message.spelled(WITHOUT_ADVICE) == "an edge has no reverse; see the file"
    one = Spelling(parameter, has=lambda name: name == "symmetrise")
    assert message.spelled(one) == "an edge has no reverse (symmetrise=True adds them); see the file"


def test_values_with_braces_are_text() -> None:
    assert Message("{name!r} is no number", name="{layers}") == "'{layers}' is no number"


def test_an_error_keeps_its_message_when_another_adds_the_place() -> None:
    inner = GraphError(Message("{layers} is wrong", layers=LAYERS))
    outer = FileError(inner.message, "own.csv", 3)
    assert str(outer) == "own.csv:3: num_layers=0 is wrong"
    assert spelled_error(outer, Spelling(parameter)) == "own.csv:3: layers=0 is wrong"
