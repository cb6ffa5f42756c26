//! What must hold after every case, whatever its outcome: the case log's eight invariants, as far as a judgement (no
//! landing) can meet or break them.

use super::{Fingerprint, Outcome, TestRepo};
use serde_json::Value;

/// Asserts them all. `before` is the fingerprint taken just before the run.
pub(crate) fn assert_invariants(before: &Fingerprint, outcome: &Outcome, repo: &TestRepo) {
    // 4 and 6: the user's files, index, stash, references, configuration and hooks.
    before.assert_unchanged(&repo.fingerprint());
    // 7, first half.
    repo.no_process_left();
    repo.no_lock_left();
    // 8.
    assert!(!outcome.stderr.contains("panicked at"), "it panicked\n{outcome}");
    assert!(matches!(outcome.code, Some(0..=4 | 130)), "an exit code without a meaning\n{outcome}");
    if let Some(document) = outcome.document() {
        assert_document(&document, outcome, repo);
    }
}

/// 7, second half: the same command again gives the same answer and moves nothing, not even our own references.
pub(crate) fn assert_again_changes_nothing(outcome: &Outcome, repo: &TestRepo, args: &[&str]) {
    let state = || repo.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let (before, refs) = (repo.fingerprint(), state());
    let again = repo.run(args);
    assert_eq!(again.code, outcome.code, "the second run ends otherwise\n{again}");
    assert_eq!(state(), refs, "the second run moved a reference\n{again}");
    assert_invariants(&before, &again, repo);
}

fn assert_document(document: &Value, outcome: &Outcome, repo: &TestRepo) {
    let decision = &document["decision"];
    let Some(kind) = decision["kind"].as_str() else {
        // A document about an error decides nothing, so it may not leave with a decided code.
        assert!(matches!(outcome.code, Some(2 | 4 | 130)), "no decision, yet a decided exit code\n{outcome}");
        return;
    };
    let codes: &[i32] = match kind {
        "land" | "skip" => &[0],
        "send-back" => &[1],
        "hold" => &[3],
        // `--require task` turns it into a hold.
        "floor-only" => &[0, 3],
        other => panic!("unknown decision `{other}`\n{outcome}"),
    };
    assert!(outcome.code.is_some_and(|code| codes.contains(&code)), "`{kind}` has another exit code\n{outcome}");
    assert!(decision["reasons"].as_array().is_some_and(|r| !r.is_empty()), "a decision without a reason\n{outcome}");

    let claim = &document["claim"];
    let tree = claim["tree"].as_str().unwrap_or_else(|| panic!("a decision about no tree\n{outcome}"));
    if kind == "send-back" || kind == "land" {
        assert_unknowns_blame_nobody(document, kind, outcome);
    }
    // 5: what was judged is an object of the store, and the reference that keeps it names exactly that tree.
    if let Some(commit) = claim["commit"].as_str() {
        assert_eq!(
            repo.git(&["rev-parse", &format!("{commit}^{{tree}}")]),
            tree,
            "another tree than claimed\n{outcome}"
        );
    }
    if let Some(name) = claim["ref"].as_str() {
        assert_eq!(repo.git(&["rev-parse", &format!("{name}^{{tree}}")]), tree, "the claim's ref moved\n{outcome}");
    }
    if let Some(case) = sealed_case(document) {
        assert_sealed(&case, kind, tree, claim["base"].as_str().unwrap_or_default(), repo);
    }
}

/// 3: whoever is sent back is sent back for a fact; whatever lands has no open question.
fn assert_unknowns_blame_nobody(document: &Value, kind: &str, outcome: &Outcome) {
    let checks = document["floor"]["checks"].as_array().cloned().unwrap_or_default();
    let unknown = |check: &&Value| check["state"] == "unknown";
    for check in checks.iter().filter(unknown) {
        assert_ne!(kind, "land", "landed although `{}` is unknown\n{outcome}", check["id"]);
        let reasons = document["decision"]["reasons"].as_array().cloned().unwrap_or_default();
        assert!(!reasons.iter().all(|r| r["code"] == check["id"]), "blamed for `{}` alone\n{outcome}", check["id"]);
    }
}

/// The sealed case a document names: a revision, alone or under `commit` or `ref`.
fn sealed_case(document: &Value) -> Option<String> {
    let case = &document["case"];
    [case, &case["commit"], &case["ref"]].into_iter().find_map(Value::as_str).map(str::to_owned)
}

/// 1 and 2: the tree that was frozen, tested, shown and decided about is one.
pub(super) fn assert_sealed(case: &str, kind: &str, tree: &str, base: &str, repo: &TestRepo) {
    let show = |file: &str| repo.git(&["show", &format!("{case}:{file}")]);
    let claim: Value = serde_json::from_str(&show("claim.json")).unwrap();
    assert_eq!(claim["tree"], tree, "the sealed claim is about another tree");
    let base_tree = repo.git(&["rev-parse", &format!("{base}^{{tree}}")]);
    let mut passed = false;
    let lines = show("receipts.jsonl");
    let receipts: Vec<(&str, Value)> = lines.lines().map(|line| (line, serde_json::from_str(line).unwrap())).collect();
    // Hybrids and mutants are neither; the receipt that rests on them says which runs those were.
    let apart: Vec<&Value> = receipts
        .iter()
        .filter(|(_, receipt)| receipt["fact"] == "bites")
        .flat_map(|(_, receipt)| receipt["receipts"].as_array().unwrap())
        .collect();
    for (line, receipt) in &receipts {
        let fact = receipt["fact"].as_str().unwrap_or_default();
        // A canary's tree is poisoned on purpose, and evidence of nothing else.
        if matches!(fact, "command" | "tests") && receipt["purpose"] != "canary" {
            let on = receipt["tree"].as_str().unwrap_or_default();
            let known = on == tree || on == base_tree || apart.contains(&&receipt["n"]);
            assert!(known, "receipt {} is about a third tree: {line}", receipt["n"]);
        }
        passed |= fact == "heard" && matches!(receipt["heard"].as_str(), Some("pass" | "skip"));
        passed |= fact == "heard" && receipt["heard"] == "not-asked" && kind == "skip";
    }
    assert!(passed || !matches!(kind, "land" | "skip"), "`{kind}` without a verdict");
    let decided: Value = serde_json::from_str(&show("decision.json")).unwrap();
    assert_eq!(decided["kind"], kind, "the sealed decision is another one");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(code: i32, document: &Value) -> Outcome {
        let (stdout, stderr) = (document.to_string(), String::new());
        Outcome { code: Some(code), stdout, stderr, line: "countersign verify --json".to_owned() }
    }

    /// A repository with a sealed case, and the document that names it.
    fn sealed(kind: &str, heard: &str, tested: &str) -> (TestRepo, Value) {
        let repo = TestRepo::new();
        let base = repo.git(&["rev-parse", "HEAD"]);
        repo.write("a.txt", "1\n");
        let commit = repo.commit("work");
        let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
        let tested = if tested == "claim" { &tree } else { tested };
        repo.branch("case");
        repo.write("claim.json", json!({"tree": tree}).to_string());
        repo.write("decision.json", json!({"kind": kind}).to_string());
        let receipts =
            [json!({"n": 1, "fact": "tests", "tree": tested}), json!({"n": 2, "fact": "heard", "heard": heard})];
        repo.write("receipts.jsonl", receipts.map(|r| r.to_string()).join("\n"));
        let case = repo.commit("case");
        repo.git(&["switch", "-q", "main"]);
        let document = json!({
            "claim": {"commit": commit, "tree": tree, "base": base},
            "floor": {"checks": []},
            "decision": {"kind": kind, "reasons": [{"code": "verdict", "text": "t"}]},
            "case": case,
        });
        (repo, document)
    }

    fn broken(code: i32, document: &Value, repo: &TestRepo) -> bool {
        let (before, outcome) = (repo.fingerprint(), outcome(code, document));
        std::panic::catch_unwind(|| assert_invariants(&before, &outcome, repo)).is_err()
    }

    #[test]
    fn an_honest_case_keeps_every_invariant() {
        let (repo, document) = sealed("land", "pass", "claim");
        assert!(!broken(0, &document, &repo));
        let (repo, document) = sealed("send-back", "fail", "claim");
        assert!(!broken(1, &document, &repo));
    }

    #[test]
    fn each_broken_invariant_is_noticed() {
        let (repo, document) = sealed("land", "pass", "claim");
        assert!(broken(1, &document, &repo), "exit code and decision disagree");
        assert!(broken(70, &document, &repo), "our own bug is no outcome");
        let mut other = document.clone();
        other["claim"]["tree"] = json!("0".repeat(40));
        assert!(broken(0, &other, &repo), "the commit holds another tree");
        let mut other = document.clone();
        other["floor"]["checks"] = json!([{"id": "tests-run", "state": "unknown"}]);
        assert!(broken(0, &other, &repo), "landed over an unknown");
        let (repo, document) = sealed("land", "unusable", "claim");
        assert!(broken(0, &document, &repo), "landed without a verdict");
        let third = "1".repeat(40);
        let (repo, document) = sealed("land", "pass", &third);
        assert!(broken(0, &document, &repo), "tested another tree");
        let (repo, document) = sealed("land", "pass", "claim");
        let before = repo.fingerprint();
        repo.write("a.txt", "moved\n");
        let outcome = outcome(0, &document);
        assert!(std::panic::catch_unwind(|| assert_invariants(&before, &outcome, &repo)).is_err());
    }

    #[test]
    fn a_repeated_command_that_does_nothing_changes_nothing() {
        let repo = TestRepo::new();
        let first = repo.run(&["--version"]);
        assert_again_changes_nothing(&first, &repo, &["--version"]);
    }
}
