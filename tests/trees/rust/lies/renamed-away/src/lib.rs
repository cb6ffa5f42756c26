pub fn price(n: u32) -> u32 {
    n * 2
}

pub fn total(prices: &[u32]) -> u32 {
    prices.iter().sum::<u32>().min(100)
}

pub fn receipt(prices: &[u32]) -> String {
    let lines: String = prices.iter().map(|price| format!("{price}\n")).collect();
    format!("{lines}total {}\n", total(prices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_doubled() {
        assert_eq!(price(2), 4);
    }

    #[allow(dead_code)]
    fn a_total_adds_up() {
        assert_eq!(total(&[1, 2]), 3);
    }

    #[test]
    fn a_total_is_capped() {
        assert_eq!(total(&[60, 60]), 100);
    }
}
