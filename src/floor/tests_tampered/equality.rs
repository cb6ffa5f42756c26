//! Equality that looks at nothing: `__eq__` that is always true makes every `assert a == b` on it true. A test that rests on
//! it bites on the base and can never fail again.

use super::rules::{quote, raise};
use super::version::Changed;
use crate::receipts::Finding;

/// What opens a definition that tests compare by.
const OPENINGS: &[&str] =
    &["def __eq__(", "def __ne__(", "fn eq(", "fn ne(", "equals(", "Equals(", "isEqual(", "is_equal("];

/// The longest body that is looked at, in lines.
const LONGEST: usize = 12;

pub(super) fn look(changes: &[Changed<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for changed in changes {
        let Some(version) = changed.new.as_ref().filter(|version| version.scanned().is_some()) else { continue };
        let lines: Vec<&str> = version.text.lines().collect();
        let added = changed.added_lines();
        let mut last = 0;
        for (line, _) in added {
            // The definition that an added line stands in, or is.
            let start = (line.saturating_sub(LONGEST).max(1)..=line).rev().find(|at| opens(lines[at - 1]));
            let Some(start) = start.filter(|start| *start != last) else { continue };
            let body = body(&lines[start - 1..]);
            if line < start + body.len() && is_blind(&body.join("\n")) {
                last = start;
                let expected = "an equality that looks at both sides; tests that compare by this one cannot fail";
                findings.push(raise("equality-constant", version.at(start), expected, quote(lines[start - 1])));
            }
        }
    }
    findings
}

fn opens(line: &str) -> bool {
    let line = line.trim();
    let assigned = line.starts_with("__eq__ =") || line.contains(".__eq__ =");
    let defined = OPENINGS.iter().any(|opening| {
        line.split_once(opening).is_some_and(|(before, _)| {
            // A call is no definition: before a method's name stand words alone.
            before.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '(' | ')' | '<' | '>'))
                && !before.split_whitespace().any(|word| matches!(word, "return" | "if" | "assert" | "await" | "not"))
        }) && (line.ends_with([':', '{', '}', ',', '(']) || opening.starts_with("def") || opening.starts_with("fn"))
    });
    (assigned || defined) && !["//", "#", "*"].iter().any(|mark| line.starts_with(mark))
}

/// The definition's lines: up to the first that is indented no deeper, its closing bracket apart.
fn body<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let Some(first) = lines.first() else { return Vec::new() };
    let rest = lines[1..].iter().take(LONGEST).take_while(|line| line.trim().is_empty() || depth(line) > depth(first));
    std::iter::once(*first).chain(rest.copied()).collect()
}

/// Words of a body that looks at both sides, or says that it cannot.
const COMPARES: &[&str] = &[
    "==",
    "!=",
    "eq(",
    "equals(",
    "Equals(",
    "cmp(",
    "qual",
    " is ",
    " in ",
    ".every(",
    ".all(",
    "zip",
    "matches!",
    "<",
    "super",
    "NotImplemented\n",
    "todo!",
    "throw ",
    "raise ",
    "__dict__",
    "isclose",
    "match ",
];

/// True if nothing in it compares: no operator, no other equality, no loop over parts. Which type the other has is no part.
fn is_blind(body: &str) -> bool {
    let code: String = body
        .lines()
        .map(|line| line.split(" //").next().unwrap_or_default().split(" # ").next().unwrap_or_default())
        .filter(|line| !["//", "#", "\"\"\""].iter().any(|mark| line.trim_start().starts_with(mark)))
        .collect::<Vec<_>>()
        .join("\n");
    let head = OPENINGS.iter().find_map(|opening| code.split_once(opening)).map_or(code.as_str(), |(_, rest)| rest);
    let compares = COMPARES.iter().any(|word| head.contains(word));
    let answers = ["true", "True", "isinstance", "instanceof", "1"].iter().any(|word| head.contains(word));
    answers && !compares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(text: &str) -> bool {
        let lines: Vec<&str> = text.lines().collect();
        (0..lines.len()).any(|at| opens(lines[at]) && is_blind(&body(&lines[at..]).join("\n")))
    }

    #[test]
    fn an_equality_that_is_always_true_is_told_from_one_that_compares() {
        for blind in [
            "class P:\n    def __eq__(self, other):\n        return True\n",
            "    def __eq__(self, other): return True\n",
            "    def __eq__(self, other):\n        \"\"\"Same.\"\"\"\n        return isinstance(other, P)\n",
            "    __eq__ = lambda self, other: True\n",
            "impl PartialEq for P {\n    fn eq(&self, _: &Self) -> bool {\n        true\n    }\n}\n",
            "    fn eq(&self, _other: &P) -> bool { true }\n",
            "  equals(other) {\n    return true;\n  }\n",
            "    public boolean equals(Object o) {\n        return o instanceof P;\n    }\n",
        ] {
            assert!(is_found(blind), "{blind}");
        }
        for honest in [
            "    def __eq__(self, other):\n        return isinstance(other, P) and self.x == other.x\n",
            "    def __eq__(self, other):\n        return NotImplemented\n",
            "    fn eq(&self, other: &Self) -> bool {\n        self.x == other.x\n    }\n",
            "    fn eq(&self, other: &Self) -> bool {\n        self.x.eq(&other.x)\n    }\n",
            "  equals(other) {\n    return this.x === other.x;\n  }\n",
            "  equals(other) {\n    return this.parts.every((p, i) => p.equals(other.parts[i]));\n  }\n",
            "    assert a.equals(True)\n",
            "    if a.equals(b) {\n        true\n    }\n",
            "    expect(a.equals(b)).toBe(true);\n",
        ] {
            assert!(!is_found(honest), "{honest}");
        }
    }
}
