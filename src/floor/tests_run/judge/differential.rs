//! A red run, test by test: what failed before is nobody's, what fails now is named, what cannot be told apart is held.

use super::{Comparison, Finding, Run, State, TestCommand, finding, listed};

/// The findings about a red run whose failures can be told from those of the base.
pub(super) fn failures(command: &TestCommand, run: &Run, found: &Comparison) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |state, names: &[String], what: &str| {
        if !names.is_empty() {
            findings.push(finding(state, command, format!("{what}: {}", listed(names))));
        }
    };
    let ended = run.ending.sentence();
    say(State::Deny, &found.broken, &format!("it {ended}; on the base these pass, on the claim they fail"));
    say(State::Deny, &found.broken_new, &format!("it {ended}; these are new and fail"));
    say(State::Deny, &found.flaky_new, "these are new, and failed in one run and passed in another");
    say(State::Unknown, &found.changed, "these failed on the base already, but fail in another way now");
    say(
        State::Unknown,
        &found.unsure,
        "these fail on the claim, and on the base failed in one run and passed in another",
    );
    say(State::Info, &found.pre_existing, "these failed on the base already, and are not the claim's doing");
    findings
}

/// What is worth knowing of any run.
pub(super) fn asides(command: &TestCommand, found: &Comparison) -> Vec<Finding> {
    let told = [
        (&found.flaky_old, "these failed in one run on the claim and passed in another"),
        (&found.flaky_base, "these failed in one run on the base and passed in another"),
        (&found.mended, "these failed on the base and pass on the claim"),
    ];
    let told = told.into_iter().filter(|(names, _)| !names.is_empty());
    told.map(|(names, what)| finding(State::Info, command, format!("{what}: {}", listed(names)))).collect()
}
