import shop


def test_total_is_capped():
    shop.total([60, 60])
