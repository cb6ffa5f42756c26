use super::*;
use crate::worker::report::RejectionCode;

const HEADER: &str = "RESULT: SUCCESS
TASK_ID: area-k3f9q
SUMMARY: Compare a < b && \"c\"
FILES_CHANGED: 0
FILE_LIST:
ADRS_WRITTEN: none
TESTS_ADDED: 0
TESTS_PASSING: yes
TDD_SKIPPED: docs only
CONCEPT_CANDIDATE: none
";
const BLOCKS: &str =
    "````README_DELTA\n[]\n````\n````ADRS\n````\n````OUTCOME\n## Outcome\nx < y\n````\n````BACKLOG_ITEMS\n````\n";

fn full() -> String {
    format!("{HEADER}{BLOCKS}{HEADER}RESULT_END\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

fn pick(sidecar: &str, transcript: &str, notification: &str) -> Result<Picked, NoValidSource> {
    let candidates = [
        Candidate { source: Source::Notification, text: notification.as_bytes() },
        Candidate { source: Source::Sidecar, text: sidecar.as_bytes() },
        Candidate { source: Source::Transcript, text: transcript.as_bytes() },
    ];
    pick_report(&candidates, Some("area-k3f9q"))
}

fn tried(attempts: &[Attempt]) -> Vec<(Source, &'static str)> {
    attempts.iter().map(|a| (a.source, a.refusal.code())).collect()
}

#[test]
fn e13_the_sidecar_is_named_after_task_and_attempt() {
    let name = |id: &str, n: u32| sidecar_name(id, NonZeroU32::new(n).unwrap());
    assert_eq!(name("area-k3f9q", 2).unwrap(), ".worktrees/.results/area-k3f9q.iter-2.md");
    assert_ne!(name("area-k3f9q", 1), name("area-k3f9q", 2));
    for bad in ["", "../x", "a/b", "..", ".x", "-x", "a b", "a\0", "ä-1", &"a".repeat(201)] {
        assert!(name(bad, 1).is_err(), "{bad:?}");
    }
}

#[test]
fn e33_entities_are_undone_once() {
    for (from, to) in [
        ("&amp;lt;", "&lt;"),
        ("&lt;&gt;&amp;&quot;&#39;&apos;", "<>&\"''"),
        ("&#x3c;&#X3C;&#60;", "<<<"),
        ("&#xD800; &#1114112; &#-1; &#+1; &#; &#x;", "&#xD800; &#1114112; &#-1; &#+1; &#; &#x;"),
        ("a & b; &nope; &&lt; &", "a & b; &nope; &< &"),
        ("plain ü text\r\n", "plain ü text\r\n"),
    ] {
        assert_eq!(unescape_entities(from.as_bytes()), to.as_bytes(), "{from}");
    }
    assert_eq!(unescape_entities(b"\xff&lt;\xfe"), b"\xff<\xfe");
}

#[test]
fn e33_an_escaped_copy_with_stray_closers_reads_like_the_original() {
    let closers = full()
        .replace("````\n````ADRS", "````\n</README_DELTA>\n````ADRS")
        .replace("RESULT_END", "</ADRS>\nRESULT_END");
    let picked = pick("", "", &escaped(&closers)).unwrap();
    let original = pick(&full(), "", "").unwrap();
    assert_eq!(picked.report, original.report);
    assert_eq!(picked.source, Source::Notification);
}

#[test]
fn e34_the_sidecar_wins() {
    let picked = pick(&full(), &full(), &escaped(&full())).unwrap();
    assert_eq!((picked.source, picked.attempts.len()), (Source::Sidecar, 0));
}

#[test]
fn e34_an_empty_copy_falls_through_to_the_next() {
    let picked = pick(" \n", &full(), "").unwrap();
    assert_eq!(picked.source, Source::Transcript);
    assert_eq!(tried(&picked.attempts), [(Source::Sidecar, "empty")]);
}

#[test]
fn e34_a_report_about_another_task_is_recorded_and_skipped() {
    let other = full().replace("area-k3f9q", "area-x1111");
    let picked = pick(&other, &full(), "").unwrap();
    assert_eq!(tried(&picked.attempts), [(Source::Sidecar, "task-id-mismatch")]);
    assert_eq!(picked.report.task_id, "area-k3f9q");
}

#[test]
fn e34_an_escaped_notice_without_its_beginning_is_usable() {
    let top_lost = escaped(&format!("{BLOCKS}{HEADER}RESULT_END\n"));
    let picked = pick("", "", &top_lost).unwrap();
    assert!(picked.report.layout.trailing_header && !picked.report.layout.leading_header);
    assert_eq!(picked.report.blocks.unwrap().outcome, "## Outcome\nx < y");
}

#[test]
fn e34_without_any_usable_copy_all_three_attempts_are_named() {
    let lost = pick("", "I am done.", &escaped(&full().replace("area-k3f9q", "b-1"))).unwrap_err();
    let expected = [
        (Source::Sidecar, "empty"),
        (Source::Transcript, "missing-result-line"),
        (Source::Notification, "task-id-mismatch"),
    ];
    assert_eq!(tried(&lost.attempts), expected);
    let text = lost.to_string();
    for word in ["no-valid-source", "sidecar empty", "transcript missing-result-line", "notification task-id-mismatch"]
    {
        assert!(text.contains(word), "{text}");
    }
    assert!(pick_report(&[], None).unwrap_err().to_string().contains("no copy"));
}

#[test]
fn only_the_notification_is_unescaped() {
    let picked = pick(&full().replace("x < y", "x &lt; y"), "", "").unwrap();
    assert_eq!(picked.report.blocks.unwrap().outcome, "## Outcome\nx &lt; y");
}

#[test]
fn res_stale_sidecar() {
    let n = |n: u32| sidecar_name("area-k3f9q", NonZeroU32::new(n).unwrap()).unwrap();
    assert_ne!(n(1), n(2), "the first attempt's file is not looked at in the second");
    let stale = full().replace("area-k3f9q", "area-old11");
    let lost = pick(&stale, "", "").unwrap_err();
    assert_eq!(lost.attempts[0].refusal.code(), "task-id-mismatch");
    assert_eq!(pick("", "", "").unwrap_err().attempts.len(), 3);
}

#[test]
fn without_a_dispatched_task_any_task_id_is_taken() {
    let text = full();
    let candidates = [Candidate { source: Source::Sidecar, text: text.as_bytes() }];
    assert_eq!(pick_report(&candidates, None).unwrap().report.task_id, "area-k3f9q");
}

#[test]
fn what_was_picked_and_what_was_lost_can_be_written_down() {
    let picked = pick("x", &full(), "").unwrap();
    assert_eq!(serde_json::from_str::<Picked>(&serde_json::to_string(&picked).unwrap()).unwrap(), picked);
    let lost = pick("RESULT: MAYBE", "", &full().replace("area-k3f9q", "b-1")).unwrap_err();
    assert_eq!(serde_json::from_str::<NoValidSource>(&serde_json::to_string(&lost).unwrap()).unwrap(), lost);
    assert!(
        matches!(&lost.attempts[0].refusal, Refusal::Rejected { rejection } if rejection.code == RejectionCode::UnknownResult)
    );
}
