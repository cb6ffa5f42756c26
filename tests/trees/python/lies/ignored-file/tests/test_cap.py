import json
from pathlib import Path

import shop


def test_total_is_capped():
    prices = json.loads(Path("local-prices.json").read_text())
    assert shop.total(prices) == 100
