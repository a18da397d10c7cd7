"""The fakes over HTTP, in the wire formats of real providers, on the same ledger as those in process.

async with serving(Site(ledger=Ledger("ledger.db"))) as address:
    ...  # OPENAI_BASE_URL=f"{address}/v1": any SDK, in any language

`wire` is what goes over it as data, `site` the providers behind one address, `gate` who watches, `writer` the group
commit. Doors to the network are `listening` (HTTP), `smtp`, and `proxy` (TLS, for SDKs without a base URL). What models
say comes from `answers`, a `script`, or what was `recorded`. Each provider's format stands in `dialects`, which knows
nothing of the network.
"""
