"""Programs under test: any command, in any language, that knows nothing of us and talks to providers over HTTP.

`program` is what is run, `stage` what the lives of one try have in common, `gate` where a life is ended, `start` the
process that starts programs and leaves none behind, `launcher` all of it together.
"""
