//! Landings that the conductor really made, pushed to a bare remote, before the gate in another clone.

use crate::support::{Crew, Outcome, TestRepo, make_key, sign_with};
use serde_json::Value;
use std::path::{Path, PathBuf};

const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";
const WORK: [&str; 3] = ["work", "--agent", "worker=scripted"];

/// A board with a remote, and keys for who works, who leads and the job.
struct Story {
    crew: Crew,
    remote: PathBuf,
    base: String,
}

impl Story {
    fn new(tasks: usize, gate: &str) -> Self {
        let crew = Crew::on(TestRepo::new(), tasks);
        let repo = &crew.repo;
        let mut signers = String::new();
        for name in ["conductor", "lead", "ci"] {
            let public = make_key(repo, name);
            signers.push_str(&format!("{name}@example.invalid namespaces=\"countersign,git\" {public}"));
        }
        repo.write(".agentheim/allowed_signers", signers);
        let settings = std::fs::read_to_string(repo.path().join(".agentheim/countersign.yaml")).unwrap();
        repo.write(".agentheim/countersign.yaml", format!("{settings}{gate}"));
        let base = repo.commit("who may sign");
        let remote = repo.root().join("remote.git");
        repo.git(&["init", "-q", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
        repo.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        repo.git(&["push", "-q", "-u", "origin", "main"]);
        let story = Self { crew, remote, base };
        story.sign_with(&story.crew.repo.path(), "conductor");
        story
    }

    fn sign_with(&self, clone: &Path, name: &str) {
        sign_with(&self.crew.repo, clone, name);
    }

    fn run(&self, args: &[&str]) -> Outcome {
        self.crew.repo.run(args)
    }

    /// A fresh clone with the evidence.
    fn clone_as(&self, name: &str) -> PathBuf {
        let place = self.crew.repo.root().join(name);
        let repo = &self.crew.repo;
        repo.git_in(repo.root(), &["clone", "-q", self.remote.to_str().unwrap(), place.to_str().unwrap()]);
        self.sign_with(&place, "ci");
        repo.run_with(&place, &["fetch"], &[], b"").exits(0);
        place
    }

    /// The gate over `base..origin/main` in a clone.
    fn gate(&self, clone: &Path, base: &str, more: &[&str]) -> (Outcome, Value) {
        let words = [&["ci", "--format", "json", "--base", base, "--head", "origin/main"], more].concat();
        let outcome = self.crew.repo.run_with(clone, &words, &[], b"");
        let document = serde_json::from_str(&outcome.stdout).unwrap_or_else(|why| panic!("{why}\n{outcome}"));
        (outcome, document)
    }

    fn tip(&self) -> String {
        self.crew.repo.git(&["rev-parse", "main"])
    }
}

#[track_caller]
fn is((outcome, document): &(Outcome, Value), decision: &str, words: &[&str]) {
    assert_eq!(document["decision"], decision, "{outcome}");
    let all = format!("{} {}", document["reasons"], document["findings"]);
    for word in words {
        assert!(all.contains(word), "`{word}` is not said\n{outcome}");
    }
}

const ATTESTED: &[&str] = &["--require", "attested"];

#[test]
fn what_the_conductor_landed_passes_in_another_clone_by_its_notes_alone() {
    let story = Story::new(2, "");
    story.crew.worker(HONEST);
    story.run(&WORK).exits(0);
    story.run(&["push"]).exits(0);
    let clone = story.clone_as("job");
    let gated = story.gate(&clone, &story.base, ATTESTED);
    is(&gated, "pass", &[]);
    for task in ["w-1", "w-2"] {
        let told = gated.1["tasks"].as_array().unwrap().iter().find(|told| told["id"] == task);
        assert_eq!(told.unwrap()["evidence"], "attested", "{}", gated.0);
    }
}

#[test]
fn of_several_that_landed_together_only_the_last_was_judged_for_all() {
    let story = Story::new(3, "");
    story.crew.worker(HONEST);
    crate::work_batch::line_up(&story.crew, 3);
    story.run(&[&WORK[..], &["--parallel", "3"]].concat()).exits(0);
    story.run(&["push"]).exits(0);
    let clone = story.clone_as("job");
    is(&story.gate(&clone, &story.base, ATTESTED), "pass", &[]);
    let landings = ["log", "--format=%H", "--grep=^feature", "origin/main"];
    let log = story.crew.repo.git_in(&clone, &landings);
    let [_, inner, _] = log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
    let words = ["ci", "--format", "json", "--base", &story.base, "--head", inner, "--require", "attested"];
    let outcome = story.crew.repo.run_with(&clone, &words, &[], b"").exits(3);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let evidence: Vec<&str> =
        document["tasks"].as_array().unwrap().iter().map(|t| t["evidence"].as_str().unwrap()).collect();
    // Floor and tests run here on exactly this tree; the note alone is not believed.
    assert!(evidence.contains(&"remerged") && !evidence.contains(&"attested"), "{outcome}");
}

#[test]
fn a_landing_with_no_verify_is_held_until_a_signed_judgement_of_the_gate_covers_it_for_good() {
    let story = Story::new(3, "");
    story.crew.worker(HONEST);
    story.run(&[&WORK[..], &["w-1", "--no-verify"]].concat()).exits(0);
    story.run(&["push"]).exits(0);
    let landed = story.tip();
    let clone = story.clone_as("job");
    is(&story.gate(&clone, &story.base, ATTESTED), "held", &["no-verify-landing", "uncertified", "--attest"]);
    // What lands later carries it on.
    story.run(&[&WORK[..], &["w-2"]].concat()).exits(0);
    story.run(&["push"]).exits(0);
    let later = story.clone_as("later");
    is(&story.gate(&later, &landed, ATTESTED), "held", &["uncertified"]);
    // A judgement whose diff starts where the range does covers it; its signed note says so to every later run.
    let gated = story.gate(&later, &story.base, &["--require", "verified", "--attest"]);
    is(&gated, "pass", &[]);
    story.crew.repo.run_with(&later, &["push", "--evidence-only"], &[], b"").exits(0);
    story.run(&["fetch"]).exits(0);
    let certified = story.tip();
    story.run(&[&WORK[..], &["w-3"]].concat()).exits(0);
    story.run(&["push"]).exits(0);
    let last = story.clone_as("last");
    let gated = story.gate(&last, &certified, ATTESTED);
    is(&gated, "pass", &[]);
}

#[test]
fn a_judgement_by_hand_of_what_landed_with_no_verify_travels_and_counts_only_if_signed() {
    let story = Story::new(2, "");
    let repo = &story.crew.repo;
    story.crew.worker(HONEST);
    story.run(&[&WORK[..], &["w-1", "--no-verify"]].concat()).exits(0);
    let landed = story.tip();
    story.run(&[&WORK[..], &["w-2"]].concat()).exits(0);
    story.run(&["push"]).exits(0);
    // The board's pages are the conductor's: the work is judged with the base's.
    repo.git(&["switch", "-q", "-c", "review"]);
    repo.git(&["restore", "--source", &story.base, "--staged", "--worktree", ".agentheim"]);
    repo.commit("the board as it was");
    repo.git(&["switch", "-q", "main"]);
    let task = "# All\n\n## Acceptance criteria\n- [ ] It is there — file: `w-1.txt`\n";
    let judge = |base: &str| {
        let words = ["verify", "-", "--claim", "review", "--base", base, "--fresh", "--result", "none"];
        let outcome = repo.run_with(&repo.path(), &words, &[], task.as_bytes());
        story.run(&["push", "--evidence-only"]).exits(0);
        outcome
    };
    judge("main");
    is(&story.gate(&story.clone_as("tip"), &landed, ATTESTED), "held", &["uncertified"]);
    repo.git(&["config", "--unset", "user.signingkey"]);
    judge(&story.base).exits(0);
    is(&story.gate(&story.clone_as("unsigned"), &landed, ATTESTED), "held", &["uncertified"]);
    story.sign_with(&repo.path(), "lead");
    judge(&story.base).exits(0);
    is(&story.gate(&story.clone_as("signed"), &landed, ATTESTED), "pass", &[]);
}

#[test]
fn a_landing_over_a_fail_is_held_until_somebody_whom_the_base_allows_approves_this_head() {
    let story = Story::new(1, "gate: {approvers: ['lead@*']}\n");
    story.crew.worker("echo made > other.txt\nreport other.txt\n");
    story.run(&WORK).exits(3);
    story.run(&["decide", "w-1", "approve", "--sign", "--why", "the file comes later"]).exits(0).says("override");
    story.run(&[&WORK[..], &["w-1"]].concat()).exits(0);
    story.run(&["push"]).exits(0);
    let clone = story.clone_as("job");
    is(&story.gate(&clone, &story.base, ATTESTED), "held", &["override-landing", "uncertified"]);
    let words = ["decide", "--ci", "--base", &story.base, "--head", "main", "--why", "seen, and wanted"];
    // Neither an agent nor a key that the base names no approver releases it.
    let mark: &[(&str, &std::ffi::OsStr)] = &[("CLAUDECODE", "1".as_ref())];
    story.crew.repo.run_with(&story.crew.repo.path(), &words, mark, b"").exits(2).says("an agent's environment");
    story.run(&words).exits(0);
    story.run(&["push", "--evidence-only"]).exits(0);
    is(&story.gate(&story.clone_as("job-2"), &story.base, ATTESTED), "held", &["override-landing"]);
    story.sign_with(&story.crew.repo.path(), "lead");
    story.run(&words).exits(0).says("approved on ");
    story.run(&["push", "--evidence-only"]).exits(0);
    is(&story.gate(&story.clone_as("job-3"), &story.base, ATTESTED), "pass", &["approved", "lead@example.invalid"]);
}
