//! The environment: what we read ourselves and what a child may see.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A settled copy of the environment. The library never asks the process for it.
#[derive(Debug, Clone, Default)]
pub struct Env(BTreeMap<OsString, OsString>);

/// Variables every child may inherit. Everything else, tokens and agent sockets first, stays here.
/// `*_proxy` is absent on purpose: checks have no network, agents get their own.
const ALLOWED: &[&str] = &[
    "PATH",
    "LANG",
    "TZ",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "PYENV_ROOT",
    "NVM_DIR",
    "NVM_BIN",
    "GOROOT",
    "JAVA_HOME",
    "VOLTA_HOME",
    "ASDF_DIR",
    "MISE_DATA_DIR",
    "NIX_PROFILES",
    "LD_LIBRARY_PATH",
];

impl Env {
    /// The environment of this process, read once by the binary.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// An environment made of these pairs.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }

    /// The same environment with one variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The same environment without the variables whose names begin like this.
    #[must_use]
    pub fn without(mut self, prefix: &str) -> Self {
        self.0.retain(|name, _| !name.to_string_lossy().starts_with(prefix));
        self
    }

    /// One variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// One variable as text; `None` if absent, empty or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str).filter(|s| !s.is_empty())
    }

    /// The program of this name: itself if it is an absolute path, else the first in an absolute place of the `PATH`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && is_program(path));
        }
        std::env::split_paths(self.get("PATH").unwrap_or_default())
            .filter(|folder| folder.is_absolute() && !name.is_empty())
            .map(|folder| folder.join(name))
            .find(|candidate| is_program(candidate))
    }

    /// What a git of ours sees: the caller's environment without any `GIT_*` (we may run inside a hook) and with a fixed
    /// locale. The user's `HOME` stays, because git's own configuration (identity, LFS filters) lives there.
    pub fn for_git(&self) -> Vec<(OsString, OsString)> {
        let mut vars: Vec<_> = self
            .0
            .iter()
            .filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_") && *name != "LANGUAGE")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        for (name, value) in
            [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_PAGER", "cat")]
        {
            vars.push((name.into(), value.into()));
        }
        vars
    }

    /// What a check, a test run or a verifier sees: the allow-list only. The caller adds private `HOME` and `TMPDIR`.
    pub fn for_child(&self) -> Vec<(OsString, OsString)> {
        self.0
            .iter()
            .filter(|(name, _)| ALLOWED.iter().any(|a| *name == *a))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_never_inherits_tokens_or_git_variables() {
        let env = Env::of([("PATH", "/bin"), ("GITHUB_TOKEN", "x"), ("SSH_AUTH_SOCK", "/s"), ("GIT_DIR", "/g")]);
        assert_eq!(env.for_child(), vec![("PATH".into(), "/bin".into())]);
        assert!(!env.for_git().iter().any(|(k, _)| k == "GIT_DIR"));
        assert!(env.for_git().contains(&("LC_ALL".into(), "C".into())));
    }
}
