//! The cases of the area CI gate, and what users of such gates want most.

use crate::support::{Forge, TASK, TestRepo, write};
use serde_json::Value;
use std::ffi::OsStr;

const ATTESTED: &[&str] = &["--require", "attested"];

#[test]
fn ci_skipped_success() {
    // A SKIP is no pass unless the base says so, and has its own words.
    let forge = Forge::landed("");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    forge.rewrite_note(&head, true, &|predicate| predicate["origin"] = "skipped".into());
    forge.force_notes();
    forge.job("ci", ATTESTED).is("held", 3).because(&["skip-held", "gate: {skip: true}"]);
    // A note that is missing, one of another commit, one that cannot be read.
    forge.drop_note(&head);
    forge.force_notes();
    forge.job("ci-2", ATTESTED).is("held", 3).because(&["not-attested"]);
    for (name, text) in [("ci-3", "not json"), ("ci-4", "{\"payloadType\":\"x\",\"payload\":\"!\",\"signatures\":[]}")]
    {
        forge.git(&forge.top(), &["notes", "--ref=refs/notes/countersign", "add", "-f", "-m", text, &head]);
        forge.force_notes();
        forge.job(name, ATTESTED).is("held", 3).because(&["note-unreadable"]);
    }
    // A verifier that is not there is an answer, never a pass.
    let clone = forge.stage.repo.root().join("ci-4");
    let words = ["--base", "origin/main", "--head", "origin/pr", "--verifier", "claude"];
    forge.judge_in(&clone, &words).is("held", 3).because(&["not-judged", "claude"]);
    // Tests that are not configured, and tests that never end.
    for (settings, code) in [("", "hold"), ("tests:\n  command: sleep 60\nlimits: {tests-seconds: 1}\n", "hold")] {
        let forge = Forge::new("");
        forge.git(&forge.top(), &["switch", "-q", "main"]);
        write(&forge.top(), ".agentheim/countersign.yaml", settings);
        forge.stage.repo.commit("other settings");
        forge.git(&forge.top(), &["push", "-q", "origin", "main"]);
        forge.git(&forge.top(), &["switch", "-q", "-C", "pr"]);
        forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
        let gated = forge.job("ci", &[]).is("held", 3);
        assert_eq!(gated.task(TASK)["decision"], code, "{}", gated.outcome);
    }
}

#[test]
fn ci_stale_verdict() {
    let forge = Forge::landed("");
    let (verified, tree) = (forge.git(&forge.top(), &["rev-parse", "pr"]), "^{tree}");
    // (a) an amend with the same message
    write(&forge.top(), "done.txt", "amended\n");
    forge.git(&forge.top(), &["commit", "-q", "-a", "--amend", "--no-edit"]);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr"]);
    forge.job("ci-a", ATTESTED).is("held", 3);
    // (e) taken back, so that the tree is the verified one again
    let gated = {
        forge.commit("done.txt", "done\n", "as it was");
        forge.job("ci-e", ATTESTED).is("pass", 0).rests_on(TASK, "attested")
    };
    let covered = gated.task(TASK)["attested"]["tree"].clone();
    assert_eq!(covered, forge.git(&forge.top(), &["rev-parse", &format!("{verified}{tree}")]));
    assert_eq!(gated.task(TASK)["attested"]["base"], forge.stage.base.as_str());
    // (c) an empty commit
    forge.git(&forge.top(), &["reset", "-q", "--hard", &verified]);
    forge.stage.repo.commit("empty");
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr"]);
    forge.job("ci-c", ATTESTED).is("pass", 0);
    // (d) the base moves in what the change touches
    forge.git(&forge.top(), &["reset", "-q", "--hard", &verified]);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr"]);
    forge.base_moves("other.txt", "other\n");
    // (b) a rebase without conflicts: merged again, and judged by floor and tests on the tree that it gives
    forge.git(&forge.top(), &["rebase", "-q", "origin/main"]);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr", &format!("{verified}:refs/heads/kept")]);
    forge.job("ci-b", ATTESTED).is("pass", 0).rests_on(TASK, "remerged");
    forge.base_moves("done.txt", "theirs\n");
    forge.job("ci-d", ATTESTED).is("held", 3);
}

#[test]
fn ci_gate_in_pr() {
    let forge = Forge::new("");
    // The change forges a ledger line for its own head, loosens the settings, deletes the tests.
    write(
        &forge.top(),
        ".agentheim/countersign.yaml",
        "gate: {floor-only: true, unsigned: true}\ntests: {command: 'true'}\n",
    );
    write(
        &forge.top(),
        ".git-countersign/receipts.jsonl",
        "{\"n\":1,\"fact\":\"decided\",\"kind\":\"land\",\"reasons\":[]}\n",
    );
    std::fs::remove_dir_all(forge.top().join("tests")).unwrap();
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    // A note of its own, signed by nobody.
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    forge.git(&forge.top(), &["notes", "--ref=refs/notes/countersign", "add", "-m", "{\"verdict\":\"PASS\"}", &head]);
    forge.git(&forge.top(), &["push", "-q", "origin", "refs/notes/countersign"]);
    let gated = forge.job("ci", &[]).is("fail", 1).finds(&["gate-changed", "the settings", "note-rejected"]);
    let tree = gated.document["tree"].clone();
    // From a checkout of main, and from another worktree: the same tree, the same answer.
    let clone = forge.stage.repo.root().join("ci");
    let beside = forge.stage.repo.root().join("beside");
    forge.git(&clone, &["worktree", "add", "-q", "--detach", beside.to_str().unwrap(), "origin/main"]);
    forge.git(&clone, &["checkout", "-q", "--detach", "origin/main"]);
    for place in [&clone, &beside] {
        let gated = forge.judge_in(place, &["--base", "origin/main", "--head", "origin/pr"]).is("fail", 1);
        assert_eq!(gated.document["tree"], tree);
    }
}

#[test]
fn snap_unborn_to_the_end() {
    let repo = TestRepo::unborn();
    let board = crate::support::Board::two_root("w-001").criterion("It is there — file: `done.txt`");
    repo.write(board.task_path(), board.task());
    let before = repo.git(&["status", "--porcelain"]);
    repo.run(&["ci"]).refuses(4, &["no commit yet", "make a first commit"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), before);
    let refs = repo.git(&["for-each-ref"]);
    assert_eq!(refs, "");
    // A bare clone has nothing to check out; a shallow one has no base; a detached head is judged as the commit it is.
    let forge = Forge::landed("");
    forge.run(&forge.remote, &["ci", "--base", "main", "--head", "pr"]).refuses(4, &["bare repository"]);
    let shallow = forge.clone_as("ci-shallow", &["--depth", "1", "--branch", "pr", "--no-single-branch"]);
    forge.run(&shallow, &["ci", "--base", "origin/main"]).refuses(4, &["shallow", "git fetch --unshallow"]);
    forge.job("ci", ATTESTED).is("pass", 0);
    for clone in [&forge.remote, &shallow] {
        assert_eq!(forge.git(clone, &["branch", "--list", "aw/*"]), "");
    }
}

#[test]
fn want_5_what_was_certified_is_what_is_merged() {
    let forge = Forge::landed("");
    forge.base_moves("other.txt", "other\n");
    let gated = forge.job("ci", ATTESTED).is("pass", 0);
    // The tree that was judged is the one that the forge's merge has.
    let clone = forge.stage.repo.root().join("ci");
    forge.git(&clone, &["checkout", "-q", "-B", "merged", "origin/main"]);
    forge.git(
        &clone,
        &["-c", "user.name=F", "-c", "user.email=f@example.invalid", "merge", "-q", "--no-ff", "-m", "m", "origin/pr"],
    );
    assert_eq!(gated.document["tree"], forge.git(&clone, &["rev-parse", "HEAD^{tree}"]));
    // One more file in that merge, and it is another tree.
    write(&clone, "slipped-in.txt", "x\n");
    let slipped = forge.stage.repo.commit_in(&clone, "merge");
    forge.judge_in(&clone, &["--base", "origin/main", "--head", &slipped, "--require", "attested"]).is("held", 3);
}

#[test]
fn want_14_a_gate_notices_when_it_is_broken() {
    let forge = Forge::landed("");
    let clone = forge.clone_as("ci", &[]);
    forge.run(&clone, &["fetch"]);
    // A `sh` that says yes to everything: the claim that must fail passes, and the gate says so.
    let tools = forge.stage.repo.root().join("tools");
    crate::support::write_script(&tools.join("sh"), "#!/bin/true\n");
    let mut path = tools.into_os_string();
    path.push(":");
    path.push(crate::support::variable("PATH").unwrap());
    let vars: &[(&str, &OsStr)] = &[("PATH", &path)];
    let words = ["ci", "--base", "origin/main", "--head", "origin/pr", "--format", "json"];
    let outcome = forge.run_with(&clone, &words, vars).exits(4);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["decision"], "broken", "{outcome}");
    assert_eq!(document["health"]["works"], false, "{outcome}");
    assert!(document["reasons"].to_string().contains("gate-broken"), "{outcome}");
}

#[test]
fn want_25_evidence_is_portable() {
    let forge = Forge::landed("");
    let bundle = forge.developer(&["attest", "export", "pr"]).exits(0).stdout;
    let text =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas/in-toto.json"));
    let schemas: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let mut seen = Vec::new();
    for line in bundle.lines() {
        let envelope: Value = serde_json::from_str(line).unwrap();
        valid(&schemas, "envelope", &envelope);
        let payload =
            <base64ct::Base64 as base64ct::Encoding>::decode_vec(envelope["payload"].as_str().unwrap()).unwrap();
        let statement: Value = serde_json::from_slice(&payload).unwrap();
        valid(&schemas, "statement", &statement);
        let kind = statement["predicateType"].as_str().unwrap().to_owned();
        let name = match kind.as_str() {
            "https://slsa.dev/verification_summary/v1" => "vsa",
            "https://in-toto.io/attestation/test-result/v0.1" => "test-result",
            other => {
                assert_eq!(other, "urn:countersign:landing:1");
                "landing"
            }
        };
        valid(&schemas, name, &statement["predicate"]);
        seen.push(name);
    }
    seen.sort_unstable();
    assert_eq!(seen, ["landing", "test-result", "vsa"]);
    // A schema that takes anything would have taken this, too.
    assert!(!jsonschema::is_valid(&schema(&schemas, "statement"), &serde_json::json!({"_type": "x"})));
}

#[test]
fn sarif_is_valid_by_the_published_schema_and_reads_into_its_types() {
    // The schema of the standard's own repository, as the crate `serde-sarif` carries it.
    let home = crate::support::variable("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| Some(std::path::PathBuf::from(crate::support::variable("HOME")?).join(".cargo")));
    let mut registries = home.and_then(|home| std::fs::read_dir(home.join("registry/src")).ok()).into_iter().flatten();
    let published = registries.find_map(|registry| {
        std::fs::read_to_string(registry.ok()?.path().join("serde-sarif-0.8.0/src/schema.json")).ok()
    });
    let Some(published) = published else { return crate::support::skip("cargo keeps no sources of serde-sarif here") };
    // One pattern of it, that of a language's name, has a bracket too many and is no regular expression.
    let published = published.replace("{2}]?$", "{2}$");
    let validator = jsonschema::validator_for(&serde_json::from_str(&published).unwrap()).unwrap();
    assert!(!validator.is_valid(&serde_json::json!({"version": "2.1.0", "runs": [{"tool": {}}]})), "it refuses things");
    let forge = Forge::landed("");
    let clone = forge.clone_as("ci", &[]);
    forge.run(&clone, &["fetch"]).exits(0);
    let judge = |head: &str, code| {
        let words = ["ci", "--format", "sarif", "--base", "origin/main", "--head", head];
        forge.run(&clone, &words).exits(code).json()
    };
    let passing = judge("origin/pr", 0);
    std::fs::remove_file(forge.top().join("tests/there.sh")).unwrap();
    let broken = forge.commit("value.txt", "2\n", "chore: break it <&> \u{202e}\"");
    forge.git(&clone, &["fetch", "-q", "origin"]);
    for document in [passing, judge(&broken, 1)] {
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|why| format!("{}: {why}", why.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
        let typed: serde_sarif::sarif::Sarif = serde_json::from_value(document).unwrap();
        assert_eq!(typed.runs.len(), 1);
    }
}

fn schema(schemas: &Value, name: &str) -> Value {
    let mut schema = schemas.clone();
    schema["$ref"] = format!("#/$defs/{name}").into();
    schema
}

fn valid(schemas: &Value, name: &str, document: &Value) {
    let validator = jsonschema::validator_for(&schema(schemas, name)).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|why| format!("{} {why}", why.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{document:#}");
}

#[test]
fn want_35_a_fork_without_a_token_is_judged_and_a_failure_to_know_is_no_pass() {
    // A fork has neither notes nor the right to push them: the job judges by itself, with nothing but the clone.
    let forge = Forge::new("");
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let clone = forge.clone_as("ci", &[]);
    forge.git(&clone, &["remote", "remove", "origin"]);
    let (base, head) = (forge.stage.base.clone(), forge.git(&forge.top(), &["rev-parse", "pr"]));
    forge.judge_in(&clone, &["--base", &base, "--head", &head]).is("pass", 0).rests_on(TASK, "verified");
    forge.judge_in(&clone, &["--base", &base, "--head", &head, "--require", "attested"]).is("held", 3);
    // A base that is not in the clone is named, and no answer is given.
    forge.run(&clone, &["ci", "--base", &"1".repeat(40)]).refuses(2, &["--base", "names no commit"]);
    forge.run(&clone, &["ci", "--base", &base, "--head", "nowhere"]).refuses(2, &["--head nowhere", "names no commit"]);
    forge.run(&clone, &["ci", "--head", &head]).refuses(2, &["--base"]);
}
