//! A suite that is being read, and the totals it declares.

use crate::floor::reports::Totals;
use crate::floor::reports::tally::{LONGEST_NAME, Tally, cut};
use crate::host::path::escape;
use quick_xml::escape::unescape;
use quick_xml::events::BytesStart;

/// An open suite, or the root.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) is_suite: bool,
    pub(super) name: String,
    pub(super) declared: Totals,
    pub(super) cases: u64,
    pub(super) bad_cases: u64,
    pub(super) bad_elements: u64,
}

impl Frame {
    /// Opens a suite, or the root.
    pub(super) fn open(element: &BytesStart<'_>, is_suite: bool) -> Self {
        let number = |name: &str| attribute(element, name).and_then(|value| value.trim().parse::<u64>().ok());
        let (failures, errors) = (number("failures"), number("errors"));
        let declared = Totals {
            tests: number("tests"),
            failed: failures.map(|failures| failures.saturating_add(errors.unwrap_or(0))).or(errors),
            skipped: number("skipped"),
        };
        let name = attribute(element, "name").map(|name| cut(&name).to_owned()).unwrap_or_default();
        Self { is_suite, name, declared, ..Self::default() }
    }

    /// Holds what it declares against what it held.
    pub(super) fn compare(&self, tally: &mut Tally) {
        let what = match (self.is_suite, self.name.as_str()) {
            (false, _) => "the report".to_owned(),
            (true, "") => "a suite".to_owned(),
            (true, name) => format!("the suite {}", escape(name.as_bytes())),
        };
        // A case with two failures may be counted once or twice: either is right.
        let most = self.bad_elements.max(self.bad_cases);
        let is_right = |declared: &u64| (self.bad_cases..=most).contains(declared);
        let failed = self.declared.failed.map(|declared| if is_right(&declared) { declared } else { most });
        let seen = Totals { tests: Some(self.cases), failed, skipped: None };
        tally.compare(&what, self.declared, seen);
    }
}

/// The groups of a test, outermost first, cut where a name is too long anyway.
pub(super) fn joined<'a>(groups: impl Iterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for (number, group) in groups.enumerate() {
        if number > 0 {
            path.push_str(" > ");
        }
        path.push_str(group);
        if path.len() > LONGEST_NAME {
            break;
        }
    }
    path
}

/// An attribute's value. A lenient walk: a broken attribute hides itself, not the case.
pub(in crate::floor::reports) fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.attributes().with_checks(false).flatten().find(|a| a.key.0 == name)?;
    Some(unescape(&found.value).map_or_else(|_| found.value.to_string(), std::borrow::Cow::into_owned))
}
