"""Agents as programs: real SDKs, a checkpoint written by hand, and no idea that somebody may kill them.

Each is two programs: `--buggy` as one finds it everywhere, `--fixed` as it ought to be. Against the fakes they run by
`crashwindow exec -- python -m scenarios.programs.refund_desk --buggy`; with real keys in the environment, for real.
"""
