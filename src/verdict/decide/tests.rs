use super::super::fixture::*;
use super::*;
use crate::receipts::ruling::{Answer, DeclinedRecord, Point, RulingRecord};
use crate::receipts::{
    CommandRecord, ComparedRecord, ConsultedRecord, EvidenceRecord, Fact, Finding, Purpose, Remedy, ReportRecord,
    TestsRecord,
};
use proptest::prelude::*;

fn concluded(mut facts: Vec<Fact>, heard: HeardRecord) -> Vec<Fact> {
    facts.push(Fact::Heard(heard));
    facts
}

fn decided(facts: Vec<Fact>) -> (DecisionKind, Vec<String>) {
    let record = judge(&number(facts)).record();
    (record.kind, record.reasons.into_iter().map(|reason| reason.code).collect())
}

fn with_check(id: &str, state: State, note: &str, heard: HeardRecord) -> Vec<Fact> {
    let mut facts = honest();
    facts.insert(10, check(id, state, note));
    concluded(facts, heard)
}

fn failed(hint: Hint) -> HeardRecord {
    HeardRecord::Fail { reasons: vec!["zero is accepted".into()], suggested_fix: String::new(), hint }
}

fn skip() -> HeardRecord {
    HeardRecord::Skip { reason: "only prose".into() }
}

fn mechanical(mut facts: Vec<Fact>) -> Vec<Fact> {
    for fact in &mut facts {
        if let Fact::Consulted(record) = fact {
            *record = consulted("mechanical", None);
        }
    }
    facts
}

fn report(outcome: ReportedOutcome) -> Fact {
    Fact::Report(ReportRecord { source: "sidecar".into(), digest: "0".repeat(64), outcome, rejection: None })
}

/// Up to the checks; nobody asked.
fn unasked(kind: &str, extra: Vec<Fact>) -> Vec<Fact> {
    let mut facts = honest();
    facts.truncate(11);
    facts[3] = task(kind, criteria());
    facts.extend(extra);
    facts
}

#[test]
fn a_clean_pass_lands_exactly_the_judged_tree() {
    let Decision::Land(warrant) = judge(&number(concluded(honest(), heard_pass()))) else { panic!("no warrant") };
    assert_eq!(warrant.tree(), &tree('d'));
    assert_eq!(warrant.commit().as_str(), "c".repeat(40));
    assert_eq!(warrant.base().as_str(), "a".repeat(40));
    assert_eq!(warrant.origin(), WarrantOrigin::Verified);
}

#[test]
fn verdict_fail_incomplete_is_decided_by_the_table() {
    use DecisionKind::{Hold, SendBack, Skip};
    let bare = HeardRecord::Fail { reasons: vec![], suggested_fix: String::new(), hint: Hint::LikelyFixable };
    let one_line = vec![EvidenceRecord { criterion: 1, covered_by: vec!["test:limits::rejects_zero".into()] }];
    for (facts, kind, code) in [
        (concluded(honest(), bare), SendBack, "verdict-fail"),
        (concluded(honest(), failed(Hint::TaskUnderSpecified)), SendBack, "task-under-specified"),
        (concluded(honest(), skip()), Hold, "skip-not-permitted"),
        (with_check("skip-eligible", State::NotApplicable, "", skip()), Hold, "skip-not-permitted"),
        (with_check("skip-eligible", State::Pass, "", skip()), Skip, "verdict-skip"),
        (concluded(honest(), HeardRecord::Pass { evidence: one_line }), Hold, "unusable-answer"),
    ] {
        let (found, codes) = decided(facts);
        assert_eq!((found, codes[0].as_str()), (kind, code));
    }
    let mut forbidden = with_check("skip-eligible", State::Pass, "", skip());
    forbidden[2] = settings(false);
    assert_eq!(decided(forbidden), (Hold, vec!["skip-not-permitted".into()]));
}

#[test]
fn whatever_a_verifier_fails_to_say_holds() {
    let unusable = HeardRecord::Unusable { codes: vec!["no-verdict".into()], detail: vec!["nothing".into()] };
    for (heard, code) in [
        (HeardRecord::Abstained { reasons: vec!["C1 is judged".into()] }, "needs-judgement"),
        (unusable, "unusable-answer"),
        (HeardRecord::NoAnswer { code: "timed-out".into(), why: "timed out".into() }, "no-answer"),
        (HeardRecord::Trespassed { what: vec!["HEAD".into()] }, "verdict-void"),
    ] {
        assert_eq!(decided(concluded(honest(), heard)), (DecisionKind::Hold, vec![code.to_owned()]));
    }
    assert_eq!(decided(honest()), (DecisionKind::Hold, vec!["not-asked".into()]));
    let not_asked = vec![Fact::Heard(HeardRecord::NotAsked { why: "the floor denied".into() })];
    assert_eq!(decided(unasked("feature", not_asked)), (DecisionKind::Hold, vec!["not-asked".into()]));
}

#[test]
fn a_verdict_of_a_verifier_that_ended_badly_or_touched_something_is_void() {
    for heard in [heard_pass(), failed(Hint::LikelyFixable), skip()] {
        let mut facts = honest();
        *facts.last_mut().unwrap() = Fact::Consulted(consulted("command", Some(1)));
        assert_eq!(decided(concluded(facts, heard.clone())), (DecisionKind::Hold, vec!["no-answer".into()]));
        let mut facts = honest();
        let touched = ConsultedRecord { trespasses: vec!["stash".into()], ..consulted("command", Some(0)) };
        *facts.last_mut().unwrap() = Fact::Consulted(touched);
        assert_eq!(decided(concluded(facts, heard)), (DecisionKind::Hold, vec!["verdict-void".into()]));
    }
}

#[test]
fn res_bounce_fail_is_never_judged() {
    for (outcome, code) in [
        (ReportedOutcome::Bounced, "worker-bounced"),
        (ReportedOutcome::Failed, "worker-failed"),
        (ReportedOutcome::Unreadable, "report-unreadable"),
    ] {
        let mut facts = honest();
        facts.insert(4, report(outcome));
        let mut denied = facts.clone();
        denied.insert(6, check("scope", State::Deny, ""));
        let mut facts = concluded(facts, heard_pass());
        // The tests' receipts name their command by number, which moved by one.
        for fact in &mut facts {
            if let Fact::Tests(tests) = fact {
                tests.command += 1;
            }
        }
        assert_eq!(decided(facts), (DecisionKind::Hold, vec![code.to_owned()]));
        if outcome != ReportedOutcome::Unreadable {
            assert_eq!(decided(denied), (DecisionKind::Hold, vec![code.to_owned()]));
        }
    }
}

#[test]
fn every_denied_check_is_named_with_or_without_a_task() {
    let denials = || vec![check("scope", State::Deny, ""), check("claim-empty", State::Deny, "")];
    let expected = (DecisionKind::SendBack, vec!["claim-empty".to_owned(), "scope".to_owned()]);
    assert_eq!(decided(unasked("feature", denials())), expected);
    let mut no_task = unasked("feature", denials());
    no_task.remove(3);
    assert_eq!(decided(no_task), expected);
    let mut refused = unasked("feature", vec![check("secrets", State::Deny, "")]);
    if let Fact::Claim(claim) = &mut refused[4] {
        claim.commit = None;
    }
    assert_eq!(decided(refused.clone()).0, DecisionKind::SendBack);
    refused.pop();
    assert_eq!(decided(refused), (DecisionKind::Hold, vec!["no-commit".into()]));
}

#[test]
fn a_finding_worse_than_its_check_counts() {
    let finding = Finding {
        state: State::Deny,
        place: "a.rs".into(),
        expected: "x".into(),
        observed: "y".into(),
        remedy: Remedy::Fix,
    };
    let hidden = CheckReport { id: "scope".into(), state: State::Pass, note: String::new(), findings: vec![finding] };
    let mut facts = honest();
    facts.insert(10, Fact::Check(hidden));
    let Decision::SendBack(sent) = judge(&number(concluded(facts, heard_pass()))) else { panic!("not sent back") };
    assert_eq!(sent.reasons[0].text, "a.rs: expected x, observed y");
}

#[test]
fn unknown_is_never_a_pass_and_never_the_workers_fault() {
    let facts = with_check("tamper", State::Unknown, "", heard_pass());
    assert_eq!(decided(facts), (DecisionKind::Hold, vec!["unknown:tamper".into()]));
}

#[test]
fn a_suspicion_is_settled_only_by_a_verifier_that_read_the_brief() {
    let asks = |heard| with_check("scope", State::Ask, "", heard);
    assert_eq!(decided(asks(heard_pass())).0, DecisionKind::Land);
    assert_eq!(decided(asks(failed(Hint::LikelyFixable))).0, DecisionKind::SendBack);
    assert_eq!(decided(asks(skip())).1, ["suspicion"]);
    assert_eq!(decided(mechanical(asks(heard_pass()))).1, ["suspicion"]);
    let both = decided(mechanical(asks(failed(Hint::LikelyFixable))));
    assert_eq!(both, (DecisionKind::Hold, vec!["suspicion".into(), "verdict-fail".into()]));
    assert_eq!(decided(unasked("feature", vec![check("scope", State::Ask, "")])).1, ["suspicion"]);
    assert_eq!(decided(mechanical(concluded(honest(), heard_pass()))).0, DecisionKind::Land);
}

#[test]
fn without_a_task_nothing_lands() {
    let mut facts = unasked("feature", vec![]);
    facts.remove(3);
    assert_eq!(decided(facts.clone()), (DecisionKind::FloorOnly, vec!["nothing-false-found".into()]));
    facts.retain(|fact| !matches!(fact, Fact::Check(check) if check.id == "claim-empty"));
    assert_eq!(decided(facts), (DecisionKind::Hold, vec!["floor-incomplete".into()]));
}

#[test]
fn a_decision_task_with_one_adr_skips_without_a_verifier() {
    let adr = |state, note: &str| vec![check("skip-eligible", state, note)];
    assert_eq!(decided(unasked("decision", adr(State::Info, "decision-adr"))).1, ["decision-adr"]);
    let Decision::Skip(warrant) = judge(&number(unasked("decision", adr(State::Info, "decision-adr")))) else {
        panic!("no skip")
    };
    assert_eq!(warrant.origin(), WarrantOrigin::Skipped);
    for facts in [
        unasked("feature", adr(State::Info, "decision-adr")),
        unasked("decision", adr(State::Pass, "decision-adr")),
        unasked("decision", adr(State::Info, "two ADRs")),
        unasked("decision", adr(State::NotApplicable, "decision-adr")),
        unasked("decision", vec![]),
    ] {
        assert_eq!(decided(facts), (DecisionKind::Hold, vec!["not-asked".into()]));
    }
    let mut heard = with_check("skip-eligible", State::Info, "decision-adr", failed(Hint::LikelyFixable));
    heard[3] = task("decision", criteria());
    assert_eq!(decided(heard).0, DecisionKind::SendBack, "a FAIL outweighs the shortcut");
}

#[test]
fn tasks_that_nobody_here_can_judge_hold() {
    let mut facts = unasked("feature", vec![]);
    facts[3] = task("feature", vec![]);
    assert_eq!(decided(facts.clone()).1, ["no-criteria"]);
    facts[3] = task("feature", vec![criterion(1, "looks right", Kind::HumanEye)]);
    assert_eq!(decided(facts).1, ["human-eye-only"]);
}

#[test]
fn a_pass_without_a_green_run_of_ours_never_lands() {
    for state in [Some(State::NotApplicable), None] {
        let mut facts = honest();
        match state {
            Some(state) => facts[6] = check("tests-run", state, ""),
            None => facts[6] = check("scope", State::Pass, ""),
        }
        assert_eq!(decided(concluded(facts, heard_pass())).1, ["tests-not-run"]);
    }
    for (purpose, code) in [(Purpose::Tests, 1), (Purpose::Criterion, 0), (Purpose::Setup, 0)] {
        let mut facts = honest();
        facts[7] = Fact::Command(command(purpose, "cargo test", code));
        assert_eq!(decided(concluded(facts, heard_pass())).0, DecisionKind::Hold);
    }
}

#[test]
fn a_red_run_lands_only_if_the_ledger_explains_it_test_by_test() {
    let on_base = |line: &str| CommandRecord { tree: tree('b'), ..command(Purpose::Tests, line, 1) };
    let listed = |complete| TestsRecord { tree: tree('b'), ..tests(11, complete, Vec::new()) };
    let explained = || ComparedRecord {
        claim: 8,
        base: 11,
        complete: true,
        kept: 7,
        pre_existing: vec!["limits::is_red".into()],
        ..ComparedRecord::default()
    };
    let judged = |line: &str, complete: bool, compared: ComparedRecord| {
        let mut facts = honest();
        facts[7] = Fact::Command(command(Purpose::Tests, "cargo test", 101));
        let more = [Fact::Command(on_base(line)), Fact::Tests(listed(complete)), Fact::Compared(compared)];
        facts.splice(10..10, more);
        decided(concluded(facts, heard_pass()))
    };
    assert_eq!(judged("cargo test", true, explained()), (DecisionKind::Land, vec!["verified".into()]));
    let held = (DecisionKind::Hold, vec!["tests-not-run".to_owned()]);
    assert_eq!(judged("make test", true, explained()), held, "another command");
    assert_eq!(judged("cargo test", false, explained()), held, "the base's list is not whole");
    let name = || vec!["limits::is_red".to_owned()];
    for doubtful in [
        ComparedRecord { complete: false, ..explained() },
        ComparedRecord { broken: name(), ..explained() },
        ComparedRecord { unclear: name(), ..explained() },
        ComparedRecord { flaky_new: name(), ..explained() },
        ComparedRecord { pre_existing: Vec::new(), ..explained() },
        ComparedRecord { kept: 0, ..explained() },
        ComparedRecord { base: 8, ..explained() },
        ComparedRecord { claim: 11, ..explained() },
    ] {
        assert_eq!(judged("cargo test", true, doubtful.clone()), held, "{doubtful:?}");
    }
}

#[test]
fn an_ill_formed_ledger_holds() {
    assert_eq!(decided(vec![]), (DecisionKind::Hold, vec!["ill-formed-ledger".into()]));
    let mut facts = honest();
    facts.remove(4);
    assert_eq!(decided(facts), (DecisionKind::Hold, vec!["no-claim".into()]));
}

fn states() -> impl Strategy<Value = State> {
    prop_oneof![
        6 => Just(State::Pass),
        1 => Just(State::NotApplicable),
        1 => Just(State::Info),
        1 => Just(State::Ask),
        1 => Just(State::Unknown),
        1 => Just(State::Deny),
    ]
}

fn checks() -> impl Strategy<Value = Vec<Fact>> {
    let id = prop_oneof![Just("claim-empty"), Just("tests-run"), Just("skip-eligible"), Just("scope")];
    let note = prop_oneof![Just(""), Just("decision-adr")];
    let check = (id, states(), note).prop_map(|(id, state, note)| check(id, state, note));
    let known = (states(), states())
        .prop_map(|(a, b)| vec![self::check("claim-empty", a, ""), self::check("tests-run", b, "")]);
    (known, proptest::collection::vec(check, 0..4)).prop_map(|(known, more)| known.into_iter().chain(more).collect())
}

fn heards() -> impl Strategy<Value = HeardRecord> {
    prop_oneof![
        4 => Just(heard_pass()),
        1 => Just(HeardRecord::Pass { evidence: vec![] }),
        2 => Just(failed(Hint::LikelyFixable)),
        1 => Just(failed(Hint::TaskUnderSpecified)),
        2 => Just(skip()),
        1 => Just(HeardRecord::Abstained { reasons: vec![] }),
        1 => Just(HeardRecord::Unusable { codes: vec![], detail: vec![] }),
        1 => Just(HeardRecord::NoAnswer { code: String::new(), why: String::new() }),
        1 => Just(HeardRecord::Trespassed { what: vec![] }),
        1 => Just(HeardRecord::NotAsked { why: String::new() }),
    ]
}

/// Any ledger: well-formed in the main, with every part that can be missing, wrong or contradictory.
fn ledgers() -> impl Strategy<Value = Vec<Fact>> {
    let consulting = prop_oneof![
        4 => Just(Some(consulted("command", Some(0)))),
        2 => Just(Some(consulted("mechanical", None))),
        1 => Just(Some(consulted("command", Some(1)))),
        1 => Just(Some(consulted("mechanical", Some(0)))),
        1 => Just(Some(ConsultedRecord { trespasses: vec!["HEAD".into()], ..consulted("command", Some(0)) })),
        1 => Just(None),
    ];
    let said = prop_oneof![
        4 => Just(None),
        1 => Just(Some(ReportedOutcome::Success)),
        1 => Just(Some(ReportedOutcome::Bounced)),
        1 => Just(Some(ReportedOutcome::Unreadable)),
    ];
    let kind = prop_oneof![Just("feature"), Just("decision")];
    let parts = (checks(), consulting, proptest::option::weighted(0.9, heards()), said, kind, any::<bool>());
    (parts, any::<u16>()).prop_map(|((checks, consulting, heard, said, kind, skips), flaws)| {
        let flaw = |bit: u16| flaws & (3 << (2 * bit)) == 0 && flaws & 0x8000 != 0;
        let mut facts = vec![opened(), base(), settings(skips), claim()];
        if !flaw(0) {
            facts.push(task(kind, criteria()));
        }
        let id = u32::try_from(facts.len()).unwrap() + 1;
        facts.push(Fact::Command(command(Purpose::Tests, "cargo test", i32::from(flaw(1)))));
        let passed = case("limits::rejects_zero", crate::receipts::CaseResult::Passed);
        facts.push(Fact::Tests(tests(id, !flaw(2), vec![passed])));
        facts.push(proved((!flaw(3)).then_some(true), Some(false)));
        facts.extend(checks);
        facts.extend(said.map(report));
        facts.push(Fact::Token { token: TOKEN.into() });
        facts.extend(consulting.map(Fact::Consulted));
        facts.extend(heard.map(Fact::Heard));
        facts
    })
}

/// What a warrant needs, said again in the plainest way.
fn deserves_warrant(facts: &[Fact]) -> bool {
    let state = |id: &str| {
        facts
            .iter()
            .filter_map(|f| match f {
                Fact::Check(c) if c.id == id => Some(c.state),
                _ => None,
            })
            .max()
    };
    let clean = !facts.iter().any(|f| {
        matches!(f, Fact::Check(c) if matches!(c.state, State::Deny | State::Unknown))
            || matches!(f, Fact::Consulted(c) if !c.trespasses.is_empty())
    });
    let asks = facts.iter().any(|f| matches!(f, Fact::Check(c) if c.state == State::Ask));
    let read = facts.iter().any(|f| matches!(f, Fact::Consulted(c) if super::super::is_reading(c)));
    let task = facts.iter().any(|f| matches!(f, Fact::Task(_)));
    let may_skip = facts.iter().any(|f| matches!(f, Fact::Settings(s) if s.skip_allowed))
        && matches!(state("skip-eligible"), Some(State::Pass | State::Info))
        && !asks;
    let heard = facts.iter().find_map(|f| if let Fact::Heard(heard) = f { Some(heard) } else { None });
    let green = facts
        .iter()
        .any(|f| matches!(f, Fact::Command(c) if c.ending == crate::host::process::Ending::Exited { code: 0 }));
    let looked = matches!(state("claim-empty"), Some(State::Pass | State::Info | State::Ask));
    let tested = green && matches!(state("tests-run"), Some(State::Pass | State::Info | State::Ask));
    clean
        && task
        && looked
        && match heard {
            Some(HeardRecord::Pass { evidence }) => tested && evidence.len() == 3 && (!asks || read),
            Some(HeardRecord::Skip { .. } | HeardRecord::NotAsked { .. }) | None => may_skip,
            Some(_) => false,
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_warrant_without_a_clean_pass_or_a_permitted_skip(facts in ledgers()) {
        let decision = judge(&number(facts.clone()));
        if matches!(decision, Decision::Land(_) | Decision::Skip(_)) {
            prop_assert!(deserves_warrant(&facts), "{decision:?}");
        }
        let record = decision.record();
        prop_assert!(!record.reasons.is_empty());
        for reason in record.reasons {
            let code = reason.code.as_str();
            let denied = facts.iter().any(|f| matches!(f, Fact::Check(c) if c.id == code && c.state == State::Deny));
            let known = REASONS.iter().any(|(known, _)| *known == code);
            prop_assert!(denied || known || code.starts_with("unknown:"), "{code}");
        }
    }

    #[test]
    fn the_order_of_checks_does_not_matter(facts in ledgers(), turn in any::<prop::sample::Index>()) {
        let (mut checks, rest): (Vec<Fact>, Vec<Fact>) =
            facts.iter().cloned().partition(|fact| matches!(fact, Fact::Check(_)));
        let turn = turn.index(checks.len());
        checks.rotate_left(turn);
        checks.reverse();
        let at = facts.iter().position(|fact| matches!(fact, Fact::Check(_))).unwrap();
        let shuffled: Vec<Fact> = rest[..at].iter().cloned().chain(checks).chain(rest[at..].iter().cloned()).collect();
        prop_assert_eq!(judge(&number(facts)).record(), judge(&number(shuffled)).record());
    }

    #[test]
    fn a_sealed_ledger_gives_the_same_decision(facts in ledgers()) {
        let mut receipts = number(facts);
        let decision = judge(&receipts).record();
        receipts.push(Receipt { id: u32::try_from(receipts.len()).unwrap() + 1, fact: Fact::Decided(decision.clone()) });
        let sealed: Vec<String> = receipts.iter().map(|receipt| serde_json::to_string(receipt).unwrap()).collect();
        let replayed: Vec<Receipt> = sealed.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(&replayed, &receipts);
        prop_assert_eq!(judge(&replayed).record(), decision);
    }
}

fn point(check: &str, (place, expected, observed): (&str, &str, &str)) -> Point {
    let (check, place) = (check.to_owned(), place.to_owned());
    let (expected, observed) = (expected.to_owned(), observed.to_owned());
    Point { id: "F1".into(), check, state: None, place, expected, observed, code: vec![] }
}

fn ruling(answer: Answer, mend: Vec<Point>, declined: Vec<Point>) -> Fact {
    let tree = tree('d');
    Fact::Ruling(RulingRecord {
        answer,
        tree,
        case: CommitId::new(&"e".repeat(40)).unwrap(),
        mend,
        declined,
        why: "as agreed".into(),
        by: "Ann <a@example.invalid>".into(),
        proof: crate::receipts::ruling::Proof::Terminal,
        at: "2026-01-01T00:00:00Z".into(),
    })
}

fn asking() -> Vec<Fact> {
    let finding = Finding {
        state: State::Ask,
        place: "src/limits.rs:3".into(),
        expected: "e".into(),
        observed: "o".into(),
        remedy: Remedy::AskUser,
    };
    let mut facts = mechanical(honest());
    facts.insert(10, Fact::Check(CheckReport::of("injection", vec![finding])));
    concluded(facts, heard_pass())
}

#[test]
fn a_persons_approval_turns_anything_but_a_landing_into_an_override_that_names_who_and_over_what() {
    let approve = || ruling(Answer::Approve, vec![], vec![]);
    let denied = with_check("scope", State::Deny, "", heard_pass());
    for facts in [denied, concluded(honest(), failed(Hint::LikelyFixable)), asking()] {
        let before = judge(&number(facts.clone())).record();
        assert!(matches!(before.kind, DecisionKind::SendBack | DecisionKind::Hold));
        let mut facts = facts;
        facts.push(approve());
        let Decision::Land(warrant) = judge(&number(facts)) else { panic!("no warrant") };
        assert_eq!((warrant.origin(), warrant.tree()), (WarrantOrigin::Override, &tree('d')));
        let text = &warrant.reason().text;
        assert!(text.contains("Ann") && text.contains(&before.reasons[0].code) && text.contains("as agreed"), "{text}");
    }
    let mut clean = concluded(honest(), heard_pass());
    clean.push(approve());
    let Decision::Land(warrant) = judge(&number(clean)) else { panic!("no warrant") };
    assert_eq!(warrant.origin(), WarrantOrigin::Verified, "approving what passed changes nothing");
}

#[test]
fn a_ruling_on_another_tree_or_on_a_finding_that_is_not_there_voids_the_ledger() {
    let mut other = concluded(honest(), failed(Hint::LikelyFixable));
    let Fact::Ruling(mut elsewhere) = ruling(Answer::Approve, vec![], vec![]) else { unreachable!() };
    elsewhere.tree = tree('9');
    other.push(Fact::Ruling(elsewhere));
    assert_eq!(decided(other), (DecisionKind::Hold, vec!["ill-formed-ledger".to_owned()]));
    let mut invented = asking();
    invented.push(ruling(Answer::Decline, vec![], vec![point("injection", ("src/limits.rs", "e", "another"))]));
    assert_eq!(decided(invented), (DecisionKind::Hold, vec!["ill-formed-ledger".to_owned()]));
}

#[test]
fn a_declined_question_is_not_weighed_and_declined_reasons_of_a_verifier_ask_for_fresh_eyes() {
    assert_eq!(decided(asking()).1, ["suspicion"]);
    let question = point("injection", ("src/limits.rs:90", "e", "o"));
    let mut settled = asking();
    settled.push(ruling(Answer::Decline, vec![], vec![question.clone()]));
    assert_eq!(decided(settled), (DecisionKind::Land, vec!["verified".to_owned()]));
    for stands in [true, false] {
        let mut before = asking();
        let case = CommitId::new(&"e".repeat(40)).unwrap();
        let (task, why) = ("w-9".to_owned(), String::new());
        before.insert(9, Fact::Declined(DeclinedRecord { task, case, point: question.clone(), why, stands }));
        assert_eq!(decided(before).0 == DecisionKind::Land, stands);
    }
    let said = point("verdict", ("", "", "zero is accepted"));
    let mut facts = concluded(honest(), failed(Hint::LikelyFixable));
    facts.push(ruling(Answer::Decline, vec![], vec![said.clone()]));
    assert_eq!(decided(facts), (DecisionKind::Hold, vec!["declined".to_owned()]));
    let mut facts = concluded(honest(), failed(Hint::LikelyFixable));
    facts.push(ruling(Answer::Mend, vec![said], vec![]));
    assert_eq!(decided(facts), (DecisionKind::SendBack, vec!["mend".to_owned(), "mend".to_owned()]));
    let mut facts = concluded(honest(), heard_pass());
    facts.push(ruling(Answer::Abort, vec![], vec![]));
    assert_eq!(decided(facts), (DecisionKind::Hold, vec!["aborted".to_owned()]));
}

#[test]
fn a_run_that_was_told_not_to_verify_lands_as_unverified_what_nothing_denies() {
    let waived = |extra: Vec<Fact>| {
        let mut facts = unasked("feature", extra);
        facts.push(Fact::Waived { by: "the user (--no-verify)".into() });
        facts
    };
    let Decision::Land(warrant) = judge(&number(waived(vec![]))) else { panic!("no warrant") };
    assert_eq!((warrant.origin(), warrant.reason().code.as_str()), (WarrantOrigin::Unverified, "unverified"));
    assert_eq!(decided(waived(vec![check("scope", State::Deny, "")])).0, DecisionKind::SendBack);
    let mut asked = concluded(honest(), heard_pass());
    asked.push(Fact::Waived { by: "x".into() });
    assert_eq!(decided(asked), (DecisionKind::Hold, vec!["ill-formed-ledger".to_owned()]));
}
