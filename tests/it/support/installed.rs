//! Programs of other projects that a test starts as its own would be.

use std::process::Command;

/// True if the tool is there; says so visibly if not.
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "asks this machine, and tells a person")]
pub(crate) fn has(program: &str, args: &[&str]) -> bool {
    let found = Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !found {
        println!("SKIPPED: `{program} {}` does not work on this machine", args.join(" "));
    }
    found
}

/// See [`has`].
pub(crate) fn has_node() -> bool {
    has("node", &["--version"])
}

/// See [`has`].
pub(crate) fn has_pytest() -> bool {
    has("python3", &["-m", "pytest", "--version"])
}
