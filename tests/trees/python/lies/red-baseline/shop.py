def price(n):
    return n * 3


def total(prices):
    return min(sum(prices), 100)


def receipt(prices):
    lines = [str(price) for price in prices]
    return "\n".join(lines + [f"total {total(prices)}", ""])
