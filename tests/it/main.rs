//! Tests of the whole, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test fails the test")]

mod consult;
mod process;
mod sandbox;
mod secrets;
mod stand;
