use shop::receipt;

#[test]
fn a_receipt_lists_what_was_bought() {
    assert_eq!(receipt(&[1, 2]), include_str!("../golden/receipt.txt"));
}
