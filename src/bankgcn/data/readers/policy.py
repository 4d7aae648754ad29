"""What a reader does with a graph that it cannot use."""

from __future__ import annotations

from typing import Literal, get_args

from bankgcn.choices import pick

Policy = Literal["refuse", "skip"]
"""``"refuse"`` raises an error; ``"skip"`` leaves the graph out and adds a note."""


def check_policy(policy: str, kind: str) -> None:
    """Raise an error that names the policies unless this is one of them; ``kind`` is what the message calls it."""
    pick(dict.fromkeys(get_args(Policy)), policy, kind)
