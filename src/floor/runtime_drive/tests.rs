use super::judge::judge;
use super::*;
use crate::host::process::drive::Heard;
use crate::receipts::State;

fn surface() -> Surface {
    let readme = "## Runtime surface\n```yaml\nsurfacePaths: ['**']\nlaunch: ./serve\nstop: ./halt\nrunfile: port\nprobes:\n  - {path: /a, bodyShape: '{ color: string }'}\n```\n";
    match surface::read("README.md", readme.as_bytes()).unwrap() {
        Manifest::Surface(surface) => *surface,
        Manifest::None { why } => panic!("{why}"),
    }
}

fn boots(boot: Boot, answers: Vec<Heard>) -> Drive {
    Drive {
        transcript: Transcript { token: String::new(), boot, answers, stop_failed: None },
        strays: 0,
        private: true,
    }
}

fn hears(body: &str) -> Drive {
    let heard = Heard::Answer { status: 200, body: Some(body.to_owned()), whole: true };
    boots(Boot::Listening { port: 9 }, vec![heard])
}

const GOOD: &str = "{\"color\":\"red\"}";

#[test]
fn a_drive_means_what_claim_and_base_show_together() {
    let exit = |code| boots(Boot::Exited { code }, Vec::new());
    for (claim, base, state, words) in [
        (hears(GOOD), None, None, ""),
        (hears("{\"colour\":\"red\"}"), Some(Ok(hears(GOOD))), Some(State::Deny), "$.color is missing; $ has colour"),
        (hears("{\"colour\":\"red\"}"), Some(Err("no room".to_owned())), Some(State::Deny), "$.color is missing"),
        (hears("{}"), Some(Ok(hears("{}"))), Some(State::Ask), "the base answers the same"),
        (hears("{}"), Some(Ok(hears("[]"))), Some(State::Deny), "$.color is missing"),
        (hears("<html>"), Some(Ok(hears(GOOD))), Some(State::Deny), "not JSON"),
        (exit(1), Some(Ok(hears(GOOD))), Some(State::Deny), "exited with code 1 before anything listened; on the base"),
        (exit(127), Some(Ok(hears(GOOD))), Some(State::Deny), "code 127"),
        (exit(1), Some(Ok(exit(1))), Some(State::Unknown), "environment"),
        (exit(127), None, Some(State::Unknown), "environment"),
        (exit(1), Some(Err("no room".to_owned())), Some(State::Unknown), "no room"),
        (boots(Boot::Deaf { port: 7 }, vec![]), Some(Ok(hears(GOOD))), Some(State::Deny), "127.0.0.1:7"),
    ] {
        let findings = judge(&surface(), &claim, base.as_ref());
        assert_eq!(findings.iter().map(|f| f.state).max(), state, "{findings:?}");
        assert!(findings.iter().any(|f| f.observed.contains(words)) || words.is_empty(), "{words}: {findings:?}");
    }
}

#[test]
fn a_failing_stop_and_an_open_network_are_said_and_deny_nothing() {
    let mut drive = hears(GOOD);
    drive.transcript.stop_failed = Some("ended with exit status: 1".to_owned());
    drive.private = false;
    let findings = judge(&surface(), &drive, None);
    assert_eq!(findings.iter().map(|f| f.state).collect::<Vec<_>>(), [State::Ask, State::Info]);
    assert!(findings[1].place.contains("./halt"), "{findings:?}");
}

#[test]
fn a_body_that_was_cut_is_not_known_and_a_list_without_items_is_told() {
    let cut = Heard::Answer { status: 200, body: Some("{".to_owned()), whole: false };
    let findings = judge(&surface(), &boots(Boot::Listening { port: 9 }, vec![cut]), None);
    assert_eq!(findings[0].state, State::Unknown);
}
