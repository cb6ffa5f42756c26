import shop


def test_total_is_capped():
    assert shop.total([60, 60]) == 100
