"""Run by side_by_side.py with the peers' interpreter: what replaycheck says of each half, as JSON."""

import json
import sys
import time

from with_replaycheck import check_half

began = time.perf_counter()
reports = {half: check_half(half) for half in sys.argv[1:]}
seconds = time.perf_counter() - began
tries = sum(report.schedules_run for report in reports.values())
found = {half: not report for half, report in reports.items()}
sys.stdout.write(json.dumps({"found": found, "tries": tries, "seconds": seconds}))
