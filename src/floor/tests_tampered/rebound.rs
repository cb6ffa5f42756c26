//! Names that are bound anew in somebody else's module: a test file, or what it calls, that puts another function where the
//! code under test, another test or the language's own was. Fixtures that undo it (`monkeypatch`, `mock.patch`) are how
//! tests are written; an assignment stays, for every test behind it.

use super::rules::{quote, raise};
use super::version::{Changed, Version};
use crate::floor::Inspection;
use crate::floor::test_files::{FileRole, lexed::Syntax, syntax_of};
use crate::host::git::GitError;
use crate::host::path::RepoPath;
use crate::receipts::Finding;
use std::collections::BTreeSet;

/// What everybody shares; to assign to a part of one reaches every test.
const SHARED: &[&str] = &[
    "globalThis",
    "global",
    "builtins",
    "__builtins__",
    "Object.prototype",
    "Array.prototype",
    "String.prototype",
    "Number.prototype",
    "Function.prototype",
    "Promise.prototype",
];

pub(super) fn look(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Result<Vec<Finding>, GitError> {
    let judged: Vec<(&Version<'_>, Vec<(usize, &str)>)> = changes
        .iter()
        .filter_map(|changed| Some((changed.new.as_ref()?, changed.added_lines())))
        .filter(|(version, lines)| {
            !lines.is_empty() && matches!(version.scanned(), Some(Syntax::Python | Syntax::JavaScript))
        })
        .collect();
    if judged.is_empty() {
        return Ok(Vec::new());
    }
    let listed = on.repo.list(&on.claim.tree, "")?;
    let modules: BTreeSet<String> = listed.iter().filter_map(|(path, _)| module(path)).collect();
    let touched: BTreeSet<String> = changes
        .iter()
        .filter_map(|changed| changed.new.as_ref())
        .filter(|version| matches!(version.role, FileRole::Production))
        .filter_map(|version| module(version.path))
        .collect();
    let mut findings = Vec::new();
    for (version, lines) in judged {
        let theirs = imported(&version.text, &modules);
        for (line, text) in lines {
            if rebinds(text, &theirs) || mocks(text, &touched) {
                let expected =
                    "names that stay what they are for every other test; undo it by a fixture, or say why not";
                findings.push(raise("name-rebound", version.at(line), expected, quote(text)));
            }
        }
    }
    Ok(findings)
}

/// The name by which a program's file is imported.
fn module(path: &RepoPath) -> Option<String> {
    syntax_of(path)?;
    let text = path.to_string();
    let mut parts = text.rsplit('/');
    let stem = parts.next()?.split('.').next()?.to_owned();
    let whole = matches!(stem.as_str(), "__init__" | "index").then(|| parts.next().map(str::to_owned)).flatten();
    Some(whole.unwrap_or(stem))
}

/// Names in this file that mean modules of this tree, or classes of theirs.
fn imported(text: &str, modules: &BTreeSet<String>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let is_name = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    let last = |path: &str| path.rsplit(['.', '/']).find(|part| !part.is_empty()).unwrap_or_default().to_owned();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("import ").filter(|rest| !rest.contains(" from ")) {
            // Python: `import a.b as c, d`.
            for one in rest.split(',') {
                let (path, name) = one.split_once(" as ").unwrap_or((one, one));
                if modules.contains(&last(path.trim())) && is_name(path.trim().split('.').next().unwrap_or_default()) {
                    names.insert(name.trim().to_owned());
                }
            }
        } else if let Some((from, rest)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            for one in rest.trim_matches(['(', ')']).split(',') {
                let (what, name) = one.split_once(" as ").unwrap_or((one, one));
                let of_ours = from.starts_with('.') || modules.contains(&last(from));
                let is_class =
                    what.trim().starts_with(|c: char| c.is_uppercase()) && what.chars().any(char::is_lowercase);
                if is_name(name.trim()) && (modules.contains(what.trim()) || of_ours && is_class) {
                    names.insert(name.trim().to_owned());
                }
            }
        } else if let Some((left, right)) = line.split_once("require(").or_else(|| line.split_once(" from ")) {
            let ours = right.trim_start_matches(['(', ' ']).trim_start_matches(['\'', '"', '`']).starts_with('.');
            let name = left
                .trim_end_matches(['=', ' ', '('])
                .trim_start_matches("import * as ")
                .trim_start_matches("import ")
                .trim_start_matches("const ")
                .trim_start_matches("let ")
                .trim_start_matches("var ")
                .trim();
            if ours && is_name(name) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// `module.name = …`, `setattr(module, …)`, `sys.modules[…] = …`, `globalThis.name = …` and the like.
fn rebinds(text: &str, theirs: &BTreeSet<String>) -> bool {
    let text = text.trim();
    if ["//", "#", "*"].iter().any(|mark| text.starts_with(mark)) {
        return false;
    }
    let is_bound = |target: &str| {
        let Some(at) = text.find('=') else { return false };
        let left = text[..at].trim_end();
        let right = &text[at + 1..];
        let is_assignment =
            !right.starts_with(['=', '>']) && !left.ends_with(['!', '<', '>', '=', '+', '-', '*', '/', '|']);
        let attribute = left.strip_prefix(target).and_then(|rest| rest.strip_prefix(['.', '[']));
        is_assignment && attribute.is_some_and(|name| !is_setting(name))
    };
    let is_handed = |target: &str| {
        ["setattr(", "Object.defineProperty(", "Object.assign(", "Reflect.set(", "delattr("].iter().any(|call| {
            text.strip_prefix(call).is_some_and(|rest| {
                rest.strip_prefix(target)
                    .is_some_and(|rest| rest.trim_start().starts_with(',') || rest.starts_with(".prototype"))
            })
        })
    };
    let modules = text.contains("sys.modules")
        && (is_bound("sys.modules")
            || text.contains("sys.modules.update(")
            || text.contains("sys.modules.setdefault("))
        || is_bound("require.cache")
        || text.starts_with("globals()[") && text.contains("] =");
    let reached = |target: &str| is_bound(target) || is_handed(target);
    modules
        || SHARED.iter().any(|shared| reached(shared))
        || theirs.iter().any(|name| reached(name) || reached(&format!("{name}.prototype")))
}

/// `DEBUG`: a setting by its name.
fn is_setting(attribute: &str) -> bool {
    let name = attribute.trim_end_matches(']').trim_matches(['\'', '"']);
    !name.chars().any(char::is_lowercase) && name.chars().any(char::is_uppercase)
        || matches!(name, "testing" | "debug" | "fetch")
}

/// `jest.mock('../src/shop')` of a file that the claim changes: what is mocked is not what was made.
fn mocks(text: &str, touched: &BTreeSet<String>) -> bool {
    ["jest.mock(", "vi.mock(", "jest.doMock(", "vi.doMock(", "mock.module("].iter().any(|call| {
        let Some((_, rest)) = text.split_once(call) else { return false };
        let path = rest.trim_start_matches(['\'', '"', '`']);
        let path = path.split(['\'', '"', '`', ',', ')']).next().unwrap_or_default();
        path.starts_with('.')
            && module(&RepoPath::from(with_ending(path).as_str())).is_some_and(|name| touched.contains(&name))
    })
}

/// A path as imported, with an ending that tells its language.
fn with_ending(path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or(path);
    if last.contains('.') { path.to_owned() } else { format!("{path}.js") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_bound_for_others_is_told_from_what_is_ones_own() {
        let modules: BTreeSet<String> = ["shop", "test_shop", "prices"].into_iter().map(str::to_owned).collect();
        let file = "import shop\nimport pkg.prices as p\nfrom tests import test_shop\nfrom shop import Cart, total\nimport json\nconst js = require('./shop');\nimport * as es from \"./shop.mjs\";\nconst other = require('express');\n";
        let theirs = imported(file, &modules);
        for (text, wanted) in [
            ("shop.total = lambda items: 7", true),
            ("    test_shop.test_total = lambda: None", true),
            ("p.rate = fake", true),
            ("Cart.__eq__ = lambda a, b: True", true),
            ("setattr(shop, 'total', fake)", true),
            ("sys.modules['shop'] = Fake()", true),
            ("builtins.len = fake", true),
            ("globalThis.assert = () => {};", true),
            ("Object.prototype.valueOf = f", true),
            ("js.total = () => 7;", true),
            ("Object.defineProperty(js, 'total', { value: f })", true),
            ("assert shop.total == 7", false),
            ("assert shop.total(items=3) == 7", false),
            ("if shop.total == 7:", false),
            ("shop.DEBUG = True", false),
            ("json.dumps = f", false),
            ("other.total = f", false),
            ("cart.total = 7", false),
            ("self.shop = Shop()", false),
            ("monkeypatch.setattr(shop, 'total', fake)", false),
            ("with patch('shop.total', return_value=7):", false),
            ("const total = js.total;", false),
            ("sys.modules.pop('shop', None)", false),
            ("# shop.total = 1", false),
        ] {
            assert_eq!(rebinds(text, &theirs), wanted, "{text}");
        }
        let touched = BTreeSet::from(["shop".to_owned()]);
        assert!(mocks("jest.mock('../src/shop', () => ({ total: () => 7 }));", &touched));
        assert!(mocks("vi.mock(\"./shop.mjs\")", &touched));
        assert!(!mocks("jest.mock('../src/mailer');", &touched));
        assert!(!mocks("jest.mock('shop');", &touched), "a package is not the file");
    }
}
