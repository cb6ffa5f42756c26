//! The real agent programs, pinned, against a model server of our own: `.ci/agents` installs them. No key, no log-in and
//! no network but 127.0.0.1 is used.

mod installed;
mod judging;
mod loose;
mod pointed;
mod resuming;
mod stopping;
