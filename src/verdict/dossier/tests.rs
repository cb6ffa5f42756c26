use super::super::fixture::*;
use super::*;

fn refused(facts: Vec<Fact>) -> String {
    Dossier::from_receipts(&number(facts)).unwrap_err().to_string()
}

#[test]
fn an_honest_ledger_makes_a_dossier() {
    let mut facts = honest();
    facts.push(Fact::Heard(heard_pass()));
    let dossier = Dossier::from_receipts(&number(facts)).unwrap();
    assert!(dossier.tests_green && dossier.objections.is_empty() && dossier.was_read());
}

#[test]
fn a_ledger_with_gaps_or_contradictions_is_refused_by_name() {
    let mut renumbered = number(honest());
    renumbered[4].id = 9;
    let error = Dossier::from_receipts(&renumbered).unwrap_err();
    assert_eq!(error, DossierError::Numbering { position: 5, id: 9 });
    assert_eq!(Dossier::from_receipts(&[]), Err(DossierError::NotOpened));

    let with = |extra: Vec<Fact>| honest().into_iter().chain(extra).collect::<Vec<_>>();
    let asked = |resend| Fact::Consulted(ConsultedRecord { resend, ..consulted("command", Some(0)) });
    let unusable = || Fact::Heard(HeardRecord::Unusable { codes: vec!["x".into()], detail: vec![] });
    let without = |skip: fn(&Fact) -> bool| honest().into_iter().filter(|f| !skip(f)).collect::<Vec<_>>();
    for (facts, expected) in [
        (honest().split_off(1), "does not begin with its opening line"),
        (with(vec![claim()]), "records the claim twice"),
        (without(|f| matches!(f, Fact::Settings(_))), "records no settings"),
        (without(|f| matches!(f, Fact::Base(_))), "records no base"),
        (without(|f| matches!(f, Fact::Task(_))), "asked without a task"),
        (without(|f| matches!(f, Fact::Token { .. })), "before a token was drawn"),
        (with(vec![asked(false)]), "asked again after a usable answer"),
        (with(vec![Fact::Heard(heard_pass()), asked(true)]), "asked again after a usable answer"),
        (with(vec![Fact::Heard(heard_pass()), Fact::Heard(heard_pass())]), "nobody was asked for"),
        (with(vec![unusable(), asked(false)]), "more often than twice"),
        (with(vec![unusable(), asked(true), unusable(), asked(true)]), "more often than twice"),
        (with(vec![Fact::Heard(HeardRecord::NotAsked { why: "x".into() })]), "was asked and was not asked"),
    ] {
        let error = refused(facts);
        assert!(error.contains(expected), "{error}");
    }
    let mut touched = honest();
    if let Some(Fact::Consulted(record)) = touched.last_mut() {
        record.trespasses = vec!["HEAD".into()];
    }
    touched.extend([unusable(), asked(true)]);
    assert!(refused(touched).contains("touched something was asked again"));
    let mut moved = honest();
    if let Fact::Base(base) = &mut moved[1] {
        base.tree = tree('e');
    }
    assert!(refused(moved).contains("another base"));
    let mut future = honest();
    if let Fact::Opened(opened) = &mut future[0] {
        opened.format = 99;
    }
    assert!(refused(future).contains("format 99"));
}

#[test]
fn one_resend_after_an_unusable_answer_is_heard() {
    let mut facts = honest();
    facts.push(Fact::Heard(HeardRecord::Unusable { codes: vec!["no-verdict".into()], detail: vec![] }));
    facts.push(Fact::Consulted(ConsultedRecord { resend: true, ..consulted("command", Some(0)) }));
    facts.push(Fact::Heard(heard_pass()));
    let dossier = Dossier::from_receipts(&number(facts)).unwrap();
    assert!(matches!(dossier.heard, Some(HeardRecord::Pass { .. })));
}
