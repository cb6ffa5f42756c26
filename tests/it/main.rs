//! Tests of the whole, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test fails the test")]

mod process;
mod real_board;
mod sandbox;
mod stand;
