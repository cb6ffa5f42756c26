//! A Rust file made of one version's production code and another version's tests.

use super::lexed::{Lexed, Syntax};
use super::rust::{self, Region};
use std::collections::HashMap;

/// Why two versions of a file cannot be spliced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// Rust source is UTF-8.
    #[error("the file is not UTF-8")]
    Encoding,
    /// A new test region lies inside a module or block of production code: its place in the other version is unknown.
    #[error("`{0}` is new and lies inside production code, so its place in the base is unknown")]
    Nested(String),
}

/// The base's production code with the claim's test regions (issue B, part 4): regions of both are exchanged in place,
/// regions that only the base has are dropped, regions that only the claim has go to the end.
///
/// A region is an item under `#[cfg(test)]` or `#[test]`; two regions are the same if they have kind, name and order in
/// common.
///
/// # Errors
/// Not UTF-8, or a new region that is not at the top of the file.
pub fn splice(base: &[u8], claim: &[u8]) -> Result<Vec<u8>, SpliceError> {
    let read = |bytes| std::str::from_utf8(bytes).map_err(|_| SpliceError::Encoding);
    let (base, claim) = (read(base)?, read(claim)?);
    let old = rust::scan(&Lexed::new(base, Syntax::Rust)).regions;
    let new = rust::scan(&Lexed::new(claim, Syntax::Rust)).regions;
    let mut waiting: HashMap<&str, &Region> = new.iter().map(|region| (region.key.as_str(), region)).collect();
    let mut sorted: Vec<&Region> = old.iter().collect();
    sorted.sort_by_key(|region| region.range.start);
    let mut out = String::with_capacity(base.len().max(claim.len()));
    let mut at = 0;
    for region in sorted {
        out.push_str(&base[at..region.range.start]);
        if let Some(same) = waiting.remove(region.key.as_str()) {
            out.push_str(&claim[same.range.clone()]);
        }
        at = region.range.end;
    }
    out.push_str(&base[at..]);
    for region in new.iter().filter(|region| waiting.contains_key(region.key.as_str())) {
        if !region.at_top {
            return Err(SpliceError::Nested(region.key.clone()));
        }
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&claim[region.range.clone()]);
        out.push('\n');
    }
    Ok(out.into_bytes())
}
