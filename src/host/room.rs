//! A room: a pooled, disposable, detached checkout of one exact tree.
