#[test]
fn has_long_been_broken() {
    assert_eq!(1 + 1, 3);
}
