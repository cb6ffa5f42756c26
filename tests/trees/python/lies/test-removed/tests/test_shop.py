from pathlib import Path

import shop

GOLDEN = Path(__file__).parent / "golden" / "receipt.txt"


def test_price_doubles():
    assert shop.price(2) == 4


def test_receipt_lists():
    assert shop.receipt([1, 2]) == GOLDEN.read_text()
