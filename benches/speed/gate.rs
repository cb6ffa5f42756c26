//! The merge gate over a range of many attested landings: time, memory, and how many git programs it starts.

use super::stage::BINARY;
use countersign::config::{Layer, policy_digest, settle};
use countersign::host::clock::{Clock, Timestamp};
use countersign::host::git::{RefName, Repo};
use countersign::host::ids::{CommitId, TreeId};
use countersign::host::path::RepoPath;
use countersign::host::signing::SigningKey;
use countersign::host::{Host, cancel::Cancel, env::Env};
use countersign::integrate::attest::{self, Landing, ReceiptsDigest, landing_statement, verification_summary};
use countersign::receipts::Reason;
use countersign::task::read_task;
use countersign::verdict::WarrantOrigin;
use countersign::verifier::VERIFIER_PROMPT;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SETTINGS: &str = "tests:\n  command: 'true'\n";
const LANDINGS: u32 = 500;
const FILES: u32 = 10_000;

/// Builds the range and measures `countersign ci` on it.
pub(super) fn measure() -> String {
    let folder = tempfile::Builder::new().prefix("countersign-bench-gate-").tempdir_in("/dev/shm").unwrap();
    let top = folder.path().join("repo");
    for name in ["repo", "home", "tmp", "tools"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("home/.gitconfig"), "[user]\n\tname = T\n\temail = t@example.invalid\n").unwrap();
    let host = host(folder.path());
    let (base, head) = build(&host, &top);
    let mut times = Vec::new();
    let mut peak = 0;
    for _ in 0..5 {
        let (took, memory) = judge(folder.path(), &top, &base, &head, None);
        times.push(took.as_secs_f64() * 1_000.0);
        peak = peak.max(memory);
    }
    times.sort_by(f64::total_cmp);
    let list = folder.path().join("gits");
    let script = format!("#!/bin/sh\necho \"$*\" >> '{}'\nexec '{}' \"$@\"\n", list.display(), host.git.display());
    let counted = folder.path().join("tools/git");
    std::fs::write(&counted, script).unwrap();
    std::fs::set_permissions(&counted, std::fs::Permissions::from_mode(0o755)).unwrap();
    judge(folder.path(), &top, &base, &head, Some(&folder.path().join("tools")));
    let gits = std::fs::read_to_string(&list).unwrap().lines().count();
    let mut text = String::new();
    let what = format!("ci over {LANDINGS} attested commits");
    writeln!(text, "{FILES:>7}  {what:<38} {:>10.1} {:>10}  < 3 s, < 100 MB", times[2], format!("{} MB", peak >> 10))
        .unwrap();
    writeln!(text, "{:>7}  {:<38} {:>10} {:>10}", "", "  git programs started, canary included", "", gits).unwrap();
    text
}

fn host(folder: &Path) -> Host {
    let path = Env::of_process().get("PATH").unwrap().to_owned();
    let env = Env::of([("PATH", path), ("HOME", folder.join("home").into_os_string())]);
    Host {
        git: env.program("git").unwrap(),
        helper: BINARY.into(),
        scratch: folder.join("tmp"),
        env,
        clock: Clock::System,
        cancel: Cancel::new(),
    }
}

fn page(n: u32) -> String {
    format!(
        "---\nid: w-{n}\ntitle: file {n}\nstatus: doing\ntype: chore\ncreated: 2026-11-01\n---\n\
         ## Acceptance criteria\n- [ ] it is there — file: `new/{n}.txt`\n"
    )
}

/// A repository of many files whose branch has one signed landing after the other.
fn build(host: &Host, top: &Path) -> (CommitId, CommitId) {
    let git = countersign::host::git::Git::new(host, top);
    git.run(["init", "--quiet", "--initial-branch=main"]).unwrap();
    let repo = Repo::discover(host, top).unwrap();
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let mut blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20".to_vec();
    blob.extend(key.verifying_key().to_bytes());
    let words = <base64ct::Base64 as base64ct::Encoding>::encode_string(&blob);
    let signers = format!("bench@example.invalid namespaces=\"countersign\" ssh-ed25519 {words}\n");
    let mut files: BTreeMap<RepoPath, String> = BTreeMap::new();
    let mut put = |path: String, text: String| drop(files.insert(RepoPath::from(path.as_str()), text));
    put(".agentheim/countersign.yaml".into(), SETTINGS.into());
    put(".agentheim/allowed_signers".into(), signers);
    put(".agentheim/knowledge/vision.md".into(), "# Vision\n".into());
    put(".agentheim/knowledge/contexts/w/README.md".into(), "# w\n\n## Purpose\nx\n".into());
    for n in 0..LANDINGS {
        put(format!(".agentheim/board/w/doing/w-{n}.md"), page(n));
    }
    for n in 0..FILES {
        put(format!("d{:04}/f{n}.txt", n / 40), format!("file {n}\n").repeat(20));
    }
    let entries = files.into_iter().map(|(path, text)| {
        let blob = repo.write_blob(text.as_bytes()).unwrap();
        (path, (0o100_644, blob.as_str().to_owned()))
    });
    let mut tree = repo.write_tree(&entries.collect()).unwrap();
    let base = repo.write_commit(&tree, &[], Timestamp(1_700_000_000), "base\n").unwrap();
    let layer = Layer { name: "base".into(), bytes: SETTINGS.as_bytes().to_vec() };
    let policy = policy_digest(&settle(&[layer]).unwrap(), "mechanical", VERIFIER_PROMPT);
    let mut tip = base.clone();
    for n in 0..LANDINGS {
        let at = Timestamp(1_700_000_001 + u64::from(n));
        let blob = repo.write_blob(b"done\n").unwrap();
        let path = RepoPath::from(format!("new/{n}.txt").as_str());
        let edit = BTreeMap::from([(path, Some((0o100_644, blob.as_str().to_owned())))]);
        let next = repo.edit_tree(&tree, &edit).unwrap();
        let message = format!("chore(w): file {n} [w-{n}]\n");
        let commit = repo.write_commit(&next, std::slice::from_ref(&tip), at, &message).unwrap();
        let statement = landing_statement(&landing(n, &commit, &next, (&tip, &tree), &policy, at));
        let summary = verification_summary(&statement, None, at);
        let signing = SigningKey::Ed25519(Box::new(key.clone()));
        attest::write(&repo, &commit, &[statement, summary], Ok(Some(signing)), at).unwrap();
        (tip, tree) = (commit, next);
    }
    let main = RefName::new("refs/heads/main").unwrap();
    repo.move_ref(&main, &tip, None).unwrap();
    repo.git().run(["pack-refs", "--all"]).unwrap();
    repo.git().run(["repack", "-adq"]).unwrap();
    (base, tip)
}

fn landing(
    n: u32,
    commit: &CommitId,
    tree: &TreeId,
    parent: (&CommitId, &TreeId),
    policy: &str,
    at: Timestamp,
) -> Landing {
    let page = page(n);
    let task = read_task(page.as_bytes(), &RepoPath::from("page.md")).unwrap();
    Landing {
        task: format!("w-{n}"),
        task_digest: Some(task.digest.clone()),
        criteria: task.criteria(),
        origin: WarrantOrigin::Verified,
        reason: Reason { code: "verified".into(), text: "it is".into() },
        target: "refs/heads/main".into(),
        commit: commit.clone(),
        tree: tree.clone(),
        parent: parent.0.clone(),
        parent_tree: Some(parent.1.clone()),
        merged_tree: tree.clone(),
        claim: commit.clone(),
        claim_tree: tree.clone(),
        base: parent.0.clone(),
        attempt: 1,
        asked_by: None,
        verifier: "mechanical".into(),
        verdict: None,
        reconciled: None,
        skip: None,
        no_verify: false,
        overridden: false,
        policy: policy.to_owned(),
        sources: vec!["defaults".into()],
        receipts: Some(ReceiptsDigest { sha256: "0".repeat(64), count: 1 }),
        case: None,
        uncertified: Vec::new(),
        batch: None,
        version: env!("CARGO_PKG_VERSION").into(),
        at: at.to_utc(),
    }
}

/// Runs the gate; how long it took, and its peak of memory in kibibytes as the kernel tells it while it runs.
#[expect(clippy::disallowed_methods, reason = "the bench's own starter of programs")]
fn judge(folder: &Path, top: &Path, base: &CommitId, head: &CommitId, tools: Option<&Path>) -> (Duration, u64) {
    let mut path = tools.map(|tools| tools.display().to_string() + ":").unwrap_or_default();
    path.push_str(&Env::of_process().get("PATH").unwrap().to_string_lossy());
    let began = Instant::now();
    let mut child = Command::new(BINARY)
        .args(["ci", "--base", base.as_str(), "--head", head.as_str(), "--require", "attested"])
        .current_dir(top)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder.join("home"))
        .env("TMPDIR", folder.join("tmp"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kibibytes.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success(), "the gate does not pass: {ended}");
    (began.elapsed(), peak)
}
