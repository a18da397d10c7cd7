"""The command line of every program here: which half of it is to run."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def run_half(*, buggy: Callable[[], None], fixed: Callable[[], None]) -> None:
    """Run the half that `--buggy` or `--fixed` names; one of the two is needed."""
    parser = argparse.ArgumentParser()
    half = parser.add_mutually_exclusive_group(required=True)
    half.add_argument("--buggy", dest="half", action="store_const", const=buggy, help=buggy.__doc__)
    half.add_argument("--fixed", dest="half", action="store_const", const=fixed, help=fixed.__doc__)
    parser.parse_args().half()
