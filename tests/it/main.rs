//! Tests of the whole, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test fails the test")]

mod process;
mod rooms;
mod runners;
mod sandbox;
mod stand;
