"""Run by side_by_side.py with the peers' interpreter: what pytest-obligation says of each half, as JSON."""

import json
import sys
import time

from pytest_obligation import HistoriesDiverged
from pytest_obligation.process_histories import assert_process_deaths_converge
from with_obligation import history

found, tries, began = {}, 0, time.perf_counter()
for half in sys.argv[1:]:
    told = history(half)
    tries += 2 + len(told.death_points)  # the run without a death is made twice
    try:
        assert_process_deaths_converge(told)
        found[half] = False
    except HistoriesDiverged:  # nothing else counts as a finding: another error is a broken binding
        found[half] = True
sys.stdout.write(json.dumps({"found": found, "tries": tries, "seconds": time.perf_counter() - began}))
