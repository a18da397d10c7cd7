"""The fakes over HTTP, in the wire formats of real providers, on the same ledger as those in process.

async with serving(Site(ledger)) as address:
    ...  # OPENAI_BASE_URL=f"{address}/v1": any SDK, in any language

`wire` is what goes over it as data, `site` the providers behind one address, `listening` the network. Each provider's
format is a module of its own in `dialects`, which knows nothing of the network.
"""
