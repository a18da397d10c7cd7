"""What a user of crashwindow writes."""

import durable_agent
import pytest


@pytest.mark.parametrize("half", ["unkeyed", "keyed", "respent", "forgets"])
def test_every_sequence_of_crashes(half, chaos):  # noqa: ANN001, ANN201 - as a user writes it
    chaos.verify(getattr(durable_agent, half))
