import shop


def test_rebate_is_given():
    assert callable(shop.rebate)
