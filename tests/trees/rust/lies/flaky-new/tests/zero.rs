use std::fs;
use std::path::Path;

#[test]
fn nothing_costs_nothing() {
    let count = Path::new(&std::env::var("TMPDIR").unwrap()).join("count");
    let seen: u32 = fs::read_to_string(&count).map_or(0, |text| text.parse().unwrap());
    fs::write(&count, (seen + 1).to_string()).unwrap();
    assert_eq!(shop::total(&[]), 0);
    assert_eq!(seen % 2, 1);
}
