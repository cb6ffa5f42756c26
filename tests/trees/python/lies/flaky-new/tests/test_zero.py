import os
from pathlib import Path

import shop


def test_nothing_costs_nothing():
    count = Path(os.environ["TMPDIR"], "count")
    seen = int(count.read_text()) if count.exists() else 0
    count.write_text(str(seen + 1))
    assert shop.total([]) == 0
    assert seen % 2 == 1
