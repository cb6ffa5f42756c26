#[test]
fn a_total_of_a_file_is_capped() {
    let text = std::fs::read_to_string("local-prices.txt").unwrap();
    let prices: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(shop::total(&prices), 100);
}
