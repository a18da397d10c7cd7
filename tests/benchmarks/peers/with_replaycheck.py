"""What a user of replaycheck writes: the agent once more, as a handler on replaycheck's World."""

from collections.abc import Callable

from replaycheck import Report, World, check


def handler(half: str) -> Callable[[dict[str, str], World], None]:
    def handle(event: dict[str, str], world: World) -> None:
        resumed = world.has("record", "plan")

        def step(name: str, work: Callable[[], object]) -> None:
            if not world.has("record", name):
                work()
                world.effect("record", key=name, step=name)

        def send() -> None:
            if half == "unkeyed":
                world.effect("mail", to=event["to"])
            elif half == "forgets":
                if not world.has("mail", "first"):
                    world.effect("mail", data={"to": event["to"]}, key="second" if resumed else "first")
            else:
                world.effect("mail", key="send", to=event["to"])

        step("plan", lambda: world.effect("model", key="plan", prompt="plan"))
        step("research", lambda: None)
        if half == "respent":
            world.effect("model", prompt="write")
        else:
            step("write", lambda: world.effect("model", key="write", prompt="write"))
        step("send", send)

    return handle


def check_half(half: str) -> Report:
    return check(handler(half), [{"to": "reader@example.com"}])
