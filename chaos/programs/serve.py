"""The fakes on a port, for trying a program by hand, or a test suite in another language."""

from __future__ import annotations

import asyncio
import shlex
import signal
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from chaos.errors import LaunchError
from fakes.server.dialects import variables
from fakes.server.listening import LOOPBACK, new_loop, serving
from fakes.server.proxy import proxying
from fakes.server.site import Site
from fakes.server.smtp import serving_smtp


def serve(site: Site, say: Callable[[str], None], *, port: int, tls: bool) -> None:
    """Serve until SIGINT or SIGTERM. `say` is told what to export, and in the end what was done.

    Raises:
        LaunchError: the port is taken.
    """
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_serve(site, say, port=port, tls=tls))


def exported(variables: Mapping[str, str]) -> str:
    """Lines for a shell."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


async def _serve(site: Site, say: Callable[[str], None], *, port: int, tls: bool) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        try:
            address = await stack.enter_async_context(serving(site, port))
        except OSError as error:
            raise LaunchError(f"port {port} of {LOOPBACK} cannot be served: {error.strerror}; choose another") from None
        mail = await stack.enter_async_context(serving_smtp(site))
        names = {**variables(address), "SMTP_HOST": LOOPBACK, "SMTP_PORT": str(mail), "CRASHWINDOW_URL": address}
        if tls:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crashwindow-")))
            proxy = await stack.enter_async_context(proxying(site, folder))
            names |= proxy.variables()
        say(exported(names))
        say(f"# serving at {address} until Ctrl-C; its ledger: {address}/crashwindow/ledger")
        await stopped.wait()
    tokens_in, tokens_out = site.ledger.tokens()
    effects = sum(site.ledger.effects().values())
    say(f"# {len(site.ledger)} calls, {effects} effects, {tokens_in + tokens_out} tokens billed")
