def price(n):
    return n * 2


def total(prices):
    return min(sum(prices), 100)


def receipt(prices):
    lines = [str(price) for price in prices]
    return "\n".join(lines + [f"total {total(prices)}", ""])


def rebate(n):
    return n - 5 if n > 10 else n
