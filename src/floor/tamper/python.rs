//! Files that stand where Python finds its test runner, or what starts before it.

use crate::floor::Inspection;
use crate::host::git::GitError;
use crate::host::path::RepoPath;

/// Modules of the runner, and those that the interpreter loads unasked: no project has them by chance, in no folder
/// that imports may begin in. Each with what the file would be.
const RUNNER: &[(&str, &str)] = &[
    ("_pytest", "a stand-in for pytest"),
    ("iniconfig", "a stand-in for what reads pytest's settings"),
    ("pluggy", "a stand-in for what calls pytest's hooks"),
    ("pytest", "a stand-in for pytest"),
    ("sitecustomize", "what Python loads before anything else"),
    ("usercustomize", "what Python loads before anything else"),
];

/// Packages that pytest may load beside the standard library.
const LOADED: &[&str] = &["_py", "attr", "exceptiongroup", "packaging", "py", "pygments", "tomli"];

/// Modules of the standard library that `python -m pytest` and `python -m unittest` load (Python 3, read off
/// `sys.modules`). Honest names in the middle of a tree; `python -m` looks for them in its own folder first.
const STANDARD: &[&str] = &[
    "abc",
    "argparse",
    "array",
    "ast",
    "base64",
    "bdb",
    "binascii",
    "bisect",
    "bz2",
    "calendar",
    "codecs",
    "collections",
    "contextlib",
    "copy",
    "copyreg",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email",
    "encodings",
    "enum",
    "fcntl",
    "fnmatch",
    "functools",
    "genericpath",
    "gettext",
    "glob",
    "hashlib",
    "heapq",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "math",
    "ntpath",
    "numbers",
    "opcode",
    "operator",
    "os",
    "pathlib",
    "platform",
    "posixpath",
    "pprint",
    "pyexpat",
    "quopri",
    "random",
    "re",
    "reprlib",
    "runpy",
    "select",
    "selectors",
    "shlex",
    "shutil",
    "signal",
    "site",
    "socket",
    "stat",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "token",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zipfile",
    "zipimport",
    "zlib",
];

/// Files that make a folder a project of its own, from which tests are run.
const PROJECT: &[&str] = &["pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini"];

/// What a file is to Python by its path alone: an installed package's description, whose entry points are plug-ins, or
/// a list of folders and lines that is carried out at the start.
pub(super) fn installed(path: &str) -> Option<&'static str> {
    let describes = |part: &str| [".dist-info", ".egg-info"].iter().any(|end| part.to_ascii_lowercase().ends_with(end));
    if path.split('/').any(describes) {
        Some("an installed package's entry points, which pytest loads as plug-ins")
    } else if path.to_ascii_lowercase().ends_with(".pth") {
        Some("what Python loads before anything else")
    } else {
        None
    }
}

/// What this file would stand in for where Python looks a module up. A folder that cannot be looked into counts as one
/// that imports may begin in.
pub(super) fn stands_in(on: &Inspection<'_>, path: &RepoPath) -> Option<&'static str> {
    let text = path.as_str()?;
    let (folder, module) = top(text)?;
    let is_package = || exists(on, folder, "__init__.py").unwrap_or(false);
    if let Some((_, what)) = RUNNER.iter().find(|(name, _)| *name == module) {
        return (folder.is_empty() || !is_package()).then_some(what);
    }
    if !LOADED.contains(&module) && !STANDARD.contains(&module) {
        return None;
    }
    let above = folder.strip_suffix("src").map(|above| above.trim_end_matches('/'));
    let is_project = |folder: &str| PROJECT.iter().any(|file| exists(on, folder, file).unwrap_or(true));
    let is_root = folder.is_empty() || folder == "src" || is_project(folder) || above.is_some_and(is_project);
    is_root.then_some("a stand-in for a module that the test runner loads")
}

/// The folder and name under which Python would find this file as a module or as part of a package; none for other
/// files. A folder without `__init__` gives way to a real package later on the path.
fn top(path: &str) -> Option<(&str, &str)> {
    const ENDS: &[&str] = &["py", "pyc", "pyd", "so"];
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, rest) = name.split_once('.')?;
    if !ENDS.contains(&rest.rsplit('.').next()?) {
        return None;
    }
    // Everything below a package of the runner's name is the runner.
    let mut at = 0;
    for part in folder.split('/') {
        if RUNNER.iter().any(|(name, _)| *name == part) {
            return Some((path[..at].trim_end_matches('/'), part));
        }
        at += part.len() + 1;
    }
    if stem == "__init__" {
        return Some(folder.rsplit_once('/').unwrap_or(("", folder)));
    }
    Some((folder, stem))
}

fn exists(on: &Inspection<'_>, folder: &str, file: &str) -> Result<bool, GitError> {
    let path = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    Ok(on.repo.entry(&on.claim.tree, &RepoPath::from(path.as_str()))?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_found_by_its_folder_and_first_name() {
        for (path, found) in [
            ("pytest.py", Some(("", "pytest"))),
            ("src/pytest/__init__.py", Some(("src", "pytest"))),
            ("_pytest/config/findpaths.py", Some(("", "_pytest"))),
            ("json/__init__.py", Some(("", "json"))),
            ("json/helper.py", Some(("json", "helper"))),
            ("pluggy.cpython-312-x86_64-linux-gnu.so", Some(("", "pluggy"))),
            ("pytest.md", None),
            ("pytest.ini", None),
            ("helper.py", Some(("", "helper"))),
        ] {
            assert_eq!(top(path), found, "{path}");
        }
        assert!(installed("helper.dist-info/entry_points.txt").is_some() && installed("lib/x.pth").is_some());
        assert!(installed("docs/info.md").is_none());
    }
}
