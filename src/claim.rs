//! Stage to come.
