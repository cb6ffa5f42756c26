def price(n):
    return n * 2


def total(prices):
    return sum(prices)


def receipt(prices):
    lines = [str(price) for price in prices]
    return "\n".join(lines + [f"total {total(prices)}", ""])
