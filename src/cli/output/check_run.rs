//! A check run on the head, made through `gh` where a token allows it.
//!
//! The token of a job for a pull request from a fork can only read: then GitHub refuses, and the annotations are written as log
//! commands instead. The job's exit code decides in either case.

use super::command::{cut, title};
use super::entry::{Entry, Weight};
use super::summary::{CHECK_RUN_LIMIT, markdown};
use super::text::headline;
use crate::host::Host;
use crate::host::process::{Launch, Limits, run_to_end};
use crate::host::sandbox::{Network, Profile};
use crate::pipeline::ci::{CiDecision, CiReport};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::Duration;

/// What the check is called. A branch's protection names it, so it never changes.
pub(super) const NAME: &str = "countersign / verdict";
/// GitHub takes this many annotations a request; a run gets one request.
pub(super) const MOST_ANNOTATIONS: usize = 50;
/// GitHub cuts a message at 64 KB.
const LONGEST_MESSAGE: usize = 4_000;
/// How long `gh` may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Variables that `gh` needs besides its token to reach the forge from here.
const PASSED_ON: [&str; 7] =
    ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GH_ENTERPRISE_TOKEN"];

/// Makes the check run; otherwise why there is none, for people.
pub(super) fn make(report: &CiReport, entries: &[Entry], host: &Host) -> Result<(), String> {
    let token = host.env.text("GH_TOKEN").or(host.env.text("GITHUB_TOKEN")).ok_or("no token was given (GH_TOKEN)")?;
    let repository = host.env.text("GITHUB_REPOSITORY").filter(|name| is_repository(name));
    let repository = repository.ok_or("GITHUB_REPOSITORY names no repository")?;
    let program = host.env.program("gh").ok_or("there is no `gh` on the PATH")?;
    let body = body(report, entries, details(host).as_deref());
    let folder = tempfile::tempdir_in(&host.scratch).map_err(|why| why.to_string())?;
    let home = folder.path().join("home");
    std::fs::create_dir(&home).map_err(|why| why.to_string())?;
    let mut env: Vec<(OsString, OsString)> = host.env.for_child();
    env.extend(PASSED_ON.iter().filter_map(|name| Some(((*name).into(), host.env.get(name)?.to_owned()))));
    for (name, value) in [("GH_TOKEN", token), ("GH_PROMPT_DISABLED", "1"), ("GH_NO_UPDATE_NOTIFIER", "1")] {
        env.push((name.into(), value.into()));
    }
    if let Some(server) = host.env.text("GITHUB_SERVER_URL").and_then(|url| url.strip_prefix("https://")) {
        env.push(("GH_HOST".into(), server.trim_end_matches('/').into()));
    }
    for name in ["HOME", "GH_CONFIG_DIR", "TMPDIR"] {
        env.push((name.into(), home.clone().into()));
    }
    let path = format!("repos/{repository}/check-runs");
    let launch = Launch {
        argv: vec![
            program.into(),
            "api".into(),
            "--method".into(),
            "POST".into(),
            path.into(),
            "--input".into(),
            "-".into(),
        ],
        cwd: home.clone(),
        env,
        stdin: body.to_string().into_bytes(),
        log: folder.path().join("gh.log"),
        capture: 0,
        limits: Limits::within(PATIENCE),
        profile: Profile { network: Network::Open, ..Profile::checks(vec![home]) },
    };
    let ended = run_to_end(host, &launch);
    if ended.ending.is_success() { Ok(()) } else { Err(format!("`gh` {}", ended.ending.sentence())) }
}

/// The request.
pub(super) fn body(report: &CiReport, entries: &[Entry], details: Option<&str>) -> Value {
    let placed: Vec<&Entry> =
        entries.iter().filter(|entry| entry.weight != Weight::Note && entry.location.is_some()).collect();
    let annotations: Vec<Value> = placed.iter().take(MOST_ANNOTATIONS).filter_map(|entry| annotation(entry)).collect();
    let mut summary = markdown(report, entries, CHECK_RUN_LIMIT - 200);
    if placed.len() > MOST_ANNOTATIONS {
        summary.push_str(&format!("\n{} annotations of {} are shown.\n", MOST_ANNOTATIONS, placed.len()));
    }
    let mut body = json!({
        "name": NAME,
        "head_sha": report.head,
        "status": "completed",
        "conclusion": match report.decision {
            CiDecision::Pass => "success",
            CiDecision::Held => "action_required",
            CiDecision::Fail | CiDecision::Broken => "failure",
        },
        "output": { "title": headline(report.decision), "summary": summary, "annotations": annotations },
    });
    if let Some(details) = details {
        body["details_url"] = json!(details);
    }
    body
}

fn annotation(entry: &Entry) -> Option<Value> {
    let at = entry.location.as_ref()?;
    let line = at.line.unwrap_or(1);
    Some(json!({
        "path": at.path.as_str()?,
        "start_line": line,
        "end_line": line,
        "annotation_level": if entry.weight == Weight::Error { "failure" } else { "warning" },
        "title": title(entry),
        "message": cut(&entry.sentence(), LONGEST_MESSAGE),
    }))
}

/// The page of the run that judged.
fn details(host: &Host) -> Option<String> {
    let get = |name| host.env.text(name);
    let run = get("GITHUB_RUN_ID").filter(|run| run.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some(format!("{}/{}/actions/runs/{run}", get("GITHUB_SERVER_URL")?, get("GITHUB_REPOSITORY")?))
}

/// `owner/name`, and nothing that would lead elsewhere in the interface.
fn is_repository(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    name.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}
