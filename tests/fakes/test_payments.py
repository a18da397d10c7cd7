"""Payments: charges, refunds, declined cards, look-ups; and the email receipt."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes import CardDeclined, Charge, ConnectionLost, Fault, Refund, World


def test_a_charge_and_its_refund_say_what_was_asked() -> None:
    with World() as world:
        charge = world.payments.charge(customer="cus_1", cents=4200, reference="order-7")
        refund = world.payments.refund(charge=charge.id, cents=1200, reference="complaint-3")
        assert charge == Charge("ch_1", "cus_1", 4200, "order-7")
        assert refund == Refund("re_2", "ch_1", 1200, "complaint-3")
        assert world.ledger.effects() == {("payments", "charge", "cus_1"): 1, ("payments", "refund", "ch_1"): 1}


def test_a_declined_card_is_not_charged() -> None:
    with World() as world:
        with pytest.raises(CardDeclined, match="402 insufficient_funds: the card of 'cus_declined'") as caught:
            world.payments.charge(customer="cus_declined", cents=100, reference="order-7")
        assert (caught.value.code, caught.value.status) == ("insufficient_funds", 402)
        assert world.ledger.effects() == {}
        assert world.payments.find_charge("order-7") is None


def test_what_was_paid_can_be_looked_up_by_reference() -> None:
    with World() as world:
        charge = world.payments.charge(customer="cus_1", cents=4200, reference="order-7")
        refund = world.payments.refund(charge=charge.id, cents=1200, reference="order-7")
        assert world.payments.find_charge("order-7") == charge
        assert world.payments.find_refund("order-7") == refund
        assert world.payments.find_charge("order-8") is None
        assert world.payments.find_refund("order-8") is None


def test_a_look_up_finds_what_a_lost_answer_did_and_not_what_never_arrived() -> None:
    faults = [Fault.parse("payments.refund#1:lost_after"), Fault.parse("payments.refund#2:lost_before")]
    with World(faults=faults) as world:
        for reference in ("arrived", "lost"):
            with pytest.raises(ConnectionLost):
                world.payments.refund(charge="ch_1", cents=100, reference=reference)
        assert world.payments.find_refund("arrived") == Refund("re_1", "ch_1", 100, "arrived")
        assert world.payments.find_refund("lost") is None


def test_a_look_up_works_in_the_next_life(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db") as world:
        refund = world.payments.refund(charge="ch_1", cents=100, reference="r")
    with World(tmp_path / "ledger.db") as world:
        assert world.payments.find_refund("r") == refund


def test_a_look_up_reads() -> None:
    with World() as world:
        world.payments.find_refund("r")
        (row,) = world.ledger.rows()
        assert (row.operation, row.target, row.nature) == ("find_refund", "r", "reads")
