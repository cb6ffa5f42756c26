def price(n):
    return n * 2


def total(prices):
    return min(sum(prices), 100)


def receipt(prices):
    lines = [str(price) for price in prices]
    return "\n".join(lines + [f"sum {total(prices)}", ""])
