//! What the tests share: a repository nobody else sees, the real binary run in an emptied environment, small boards,
//! scripted verifiers, and the invariants that hold after every case.

mod aftermath;
pub(crate) mod agent;
mod board;
mod crew;
mod fake;
mod fingerprint;
mod forge;
mod installed;
mod invariants;
mod outcome;
mod repo;
pub(crate) mod session;
mod stage;
pub(crate) mod trial;

pub(crate) use {
    aftermath::{GIT, NO_BOX, why_of, with_user_config},
    board::Board,
    crew::{Crew, end_of},
    fake::FakeVerifier,
    fingerprint::Fingerprint,
    forge::{Forge, make_key, sign_with},
    installed::{has, has_node, has_pytest},
    invariants::{assert_again_changes_nothing, assert_invariants},
    outcome::Outcome,
    repo::{TestRepo, search_path, skip, variable, write, write_script},
    stage::{Judged, Stage, TASK, judge, report},
};
