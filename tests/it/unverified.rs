//! Runs that are told not to verify, landings that nobody verified, and budgets.

use crate::support::Crew;
use serde_json::json;

const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";
const WORK: [&str; 3] = ["work", "--agent", "worker=scripted"];

#[test]
fn a_run_without_verification_lands_as_unverified_and_the_next_run_verifies_again() {
    let crew = Crew::of(2);
    // Tests that never pass: nobody asks them.
    crew.repo.write("run.sh", "exit 1\n");
    crew.repo.commit("red tests");
    crew.worker("echo other > x-$id; report x-$id\n");
    crew.repo.run(&[&WORK[..], &["w-1", "--no-verify"]].concat()).exits(0);
    let predicate = crew.noted("w-1");
    assert_eq!(
        (&predicate["origin"], &predicate["reason"]["code"]),
        (&"unverified".into(), &"unverified".into()),
        "{predicate:#}"
    );
    assert_eq!(predicate["uncertified"][0]["task"], "w-1", "{predicate:#}");
    let message = crew.repo.git(&["log", "-1", "--format=%B", "--grep=Countersign: unverified", "main"]);
    assert!(message.contains("[w-1]"), "{message}");
    assert!(!crew.landed(".agentheim/countersign.yaml").unwrap().contains("verify"), "never stored");
    crew.repo.run(&[&WORK[..], &["w-2"]].concat()).exits(3).says("held");
}

#[test]
fn what_a_cheap_check_denies_does_not_land_unverified_either() {
    let crew = Crew::of(1);
    crew.worker(
        "printf '<<<<<<< a\\n=======\\n>>>>>>> b\\n' > a.txt; echo made > $id.txt; report \"$id.txt, a.txt\"\n",
    );
    let outcome = crew.repo.run(&[&WORK[..], &["--no-verify"]].concat()).exits(3);
    assert!(outcome.stdout.contains("conflict-markers"), "{outcome}");
    assert!(crew.landed("w-1.txt").is_none());
}

#[test]
fn an_unverified_landing_stays_open_in_later_notes_until_a_pass_starts_at_or_before_it() {
    let crew = Crew::of(3);
    crew.worker(HONEST);
    let base = crew.repo.git(&["rev-parse", "main"]);
    crew.repo.run(&[&WORK[..], &["w-1", "--no-verify"]].concat()).exits(0);
    crew.repo.run(&[&WORK[..], &["w-2"]].concat()).exits(0);
    let carried = crew.noted("w-2");
    assert_eq!(
        (&carried["origin"], &carried["uncertified"][0]["task"]),
        (&"verified".into(), &"w-1".into()),
        "{carried:#}"
    );
    let receipts = crew.repo.run(&["receipts", "w-2"]).exits(0);
    assert!(receipts.stdout.contains("1 landing that nobody verified"), "{receipts}");
    crew.repo.run(&["status"]).exits(0).says("nobody verified").says("(w-1, no-verify)");
    // A PASS on the tip alone certifies nothing below it; one that starts before it does.
    let task = "# All\n\n## Acceptance criteria\n- [ ] It is there — file: `w-1.txt`\n";
    // The board's pages are the conductor's: the work is judged with the base's.
    crew.repo.git(&["switch", "-q", "-c", "review"]);
    crew.repo.git(&["restore", "--source", &base, "--staged", "--worktree", ".agentheim"]);
    crew.repo.commit("the board as it was");
    crew.repo.git(&["switch", "-q", "main"]);
    let certify = |base: &str| {
        let args = ["verify", "-", "--claim", "review", "--base", base, "--fresh", "--result", "none"];
        crew.repo.run_with(&crew.repo.path(), &args, &[], task.as_bytes())
    };
    certify("main");
    assert!(crew.repo.git(&["for-each-ref", "refs/countersign/certified/"]).is_empty());
    let outcome = certify(&base);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(!crew.repo.git(&["for-each-ref", "refs/countersign/certified/"]).is_empty(), "{outcome}");
    let status = crew.repo.run(&["status"]).exits(0);
    assert!(!status.stdout.contains("nobody verified"), "{status}");
    crew.repo.run(&[&WORK[..], &["w-3"]].concat()).exits(0);
    assert_eq!(crew.noted("w-3")["uncertified"], json!([]));
}

#[test]
fn a_spent_budget_holds_by_name_and_the_work_is_saved() {
    let crew = Crew::of(1);
    let settings = crew.landed(".agentheim/countersign.yaml").unwrap();
    let budget = |text: &str| {
        crew.repo.write(".agentheim/countersign.yaml", format!("{settings}budget: {text}\n"));
        crew.repo.commit("budget");
    };
    crew.worker(HONEST);
    budget("{run: {minutes: 0}}");
    let outcome = crew.repo.run(&WORK).exits(3).says("budget-spent");
    assert!(outcome.stdout.contains("the run's 0 minutes are spent"), "{outcome}");
    // A program that tells no tokens cannot be kept to them: its first turn is its last.
    budget("{task: {tokens: 1000, usd: 2.5}}");
    let outcome = crew.repo.run(&["resume", "--agent", "worker=scripted"]).exits(3).says("budget-unknown");
    assert!(outcome.stdout.contains("tells no tokens"), "{outcome}");
    assert!(crew.repo.path().join(".agentheim/salvage/w-1-budget-spent.patch").is_file(), "{outcome}");
    budget("{task: {minutes: 600}}");
    crew.repo.run(&["resume", "--agent", "worker=scripted"]).exits(0);
    assert_eq!(crew.landed("w-1.txt").as_deref(), Some("made\n"));
    budget("{task: {minuts: 600}}");
    crew.repo.run(&WORK).exits(2).says("minuts");
}
