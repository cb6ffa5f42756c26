def test_long_broken():
    assert 1 == 2
