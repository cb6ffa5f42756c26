//! One binary for all integration tests.

mod real_board;
fn main() {}
