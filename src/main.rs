//! The countersign binary: see the library.

fn main() {}
