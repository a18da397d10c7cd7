"""Kills that come with an answer on its way: whether the program has noted it is a race, and both ends are told."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.life import LifeEnd, Try
from chaos.points import Window, place_of_call
from fakes import Row


@dataclass(slots=True)
class Races:
    """How the races of one exploration ended: in the program's favour, or with its asking again."""

    noted: int = 0
    asked_again: int = 0

    def note(self, run: Try) -> None:
        """Count the races of one try."""
        for life in run.lives:
            if life.killed_at is not None and life.killed_at.window is Window.ANSWERED:
                if _is_asked_again(run, life):
                    self.asked_again += 1
                else:
                    self.noted += 1

    def told(self) -> tuple[str, ...]:
        """The numbers, where there were any."""
        total = self.noted + self.asked_again
        if not total:
            return ()
        kills = "1 kill" if total == 1 else f"{total} kills"
        ends = f"the program had noted it {self.noted} times, and asked again {self.asked_again} times"
        return (f"{kills} came with the answer on its way, which is a race: {ends}",)


def _is_asked_again(run: Try, life: LifeEnd) -> bool:
    """Whether a later life has sent the request again at whose answer the life was killed."""
    point = life.killed_at
    own = [row for row in run.rows if row.life == life.spec.number and point and _place(row) == point.place]
    if point is None or len(own) < point.call:
        return False
    answered = own[point.call - 1]
    return any(row.life > answered.life and _request(row) == _request(answered) for row in run.rows)


def _place(row: Row) -> str:
    return place_of_call(row.provider, row.operation)


def _request(row: Row) -> tuple[str, str, str]:
    return row.operation, row.provider, row.body
