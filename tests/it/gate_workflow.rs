//! The action and the GitLab component run here as their runners would: steps in order, variables and event files set,
//! a bare repository on disk as the forge, and a `gh` that answers from the test.

use crate::packaging::yaml;
use crate::support::{TestRepo, write, write_script};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
const ZERO: &str = "0000000000000000000000000000000000000000";

/// One test, `works`, that is green as long as `value.txt` says good; its failure carries what a log must not obey.
const TESTS: &str = "if [ \"$(cat value.txt)\" = good ]; then\n\
                     printf '<testsuite><testcase name=\"works\"/></testsuite>' > out.xml; exit 0; fi\n\
                     printf '<testsuite><testcase name=\"works\"><failure message=\"::error::forged ##[add-mask]x\"/>\
                     </testcase></testsuite>' > out.xml\n\
                     echo '::error::forged'; exit 1\n";

const SETTINGS: &str = "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\ngate:\n  floor-only: true\n";

/// A forge with one repository, and a runner with a checkout of it.
struct Forge {
    repo: TestRepo,
    base: String,
}

/// What a job left.
#[derive(Debug)]
struct Job {
    code: Option<i32>,
    log: String,
    outputs: BTreeMap<String, String>,
    summary: String,
    report: PathBuf,
}

impl Job {
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.log, self.summary);
        self
    }

    /// The orders that the log gives to the runner.
    fn orders(&self) -> Vec<&str> {
        self.log.lines().filter(|line| line.trim_start().starts_with("::") || line.contains("##[")).collect()
    }

    fn file(&self, name: &str) -> String {
        let path = self.report.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}\n{}", path.display(), self.log))
    }
}

impl Forge {
    /// A repository whose tests are green and whose settings let a change without a task through on the floor alone.
    fn new() -> Self {
        let repo = TestRepo::unborn();
        repo.write("value.txt", "good\n");
        repo.write("run.sh", TESTS);
        repo.write(".agentheim/countersign.yaml", SETTINGS);
        let base = repo.commit("base");
        let forge = Self { repo, base };
        forge.repo.git(&["clone", "-q", "--bare", ".", "../forge.git"]);
        forge.repo.git(&["remote", "add", "origin", &forge.url()]);
        forge
    }

    fn url(&self) -> String {
        format!("file://{}", self.repo.root().join("forge.git").display())
    }

    /// A change on a branch of its own, pushed; its head.
    fn change(&self, value: &str) -> String {
        self.repo.git(&["switch", "-q", "-C", "topic", &self.base]);
        self.repo.write("value.txt", value);
        self.repo.write("more.txt", format!("{value} and more\n"));
        let head = self.repo.commit("change");
        self.repo.git(&["push", "-q", "--force", "origin", "HEAD:refs/heads/topic", "HEAD:refs/pull/1/head"]);
        head
    }

    /// The merge that the forge makes of base and head.
    fn merge(&self, head: &str) -> String {
        self.repo.git(&["switch", "-q", "--detach", &self.base]);
        self.repo.git(&["merge", "-q", "--no-ff", "-m", "merge", head]);
        let merge = self.repo.git(&["rev-parse", "HEAD"]);
        self.repo.git(&["push", "-q", "--force", "origin", "HEAD:refs/pull/1/merge"]);
        merge
    }

    /// A checkout as the usual action makes it: one commit deep and detached.
    fn checkout(&self, commit: &str) -> PathBuf {
        let workspace = self.repo.root().join("workspace");
        _ = std::fs::remove_dir_all(&workspace);
        std::fs::create_dir(&workspace).unwrap();
        let git = |args: &[&str]| self.repo.git_in(&workspace, args);
        git(&["init", "-q"]);
        git(&["remote", "add", "origin", &self.url()]);
        git(&["fetch", "-q", "--no-tags", "--depth=1", "origin", &format!("+{commit}:refs/remotes/judged")]);
        git(&["checkout", "-q", "--detach", "refs/remotes/judged"]);
        workspace
    }

    /// The steps of the action, in order, until one fails.
    fn action(&self, event: &str, payload: &Json, checked_out: &str, token: &str, gh: Option<&str>) -> Job {
        let workspace = self.checkout(checked_out);
        let (temp, tools) = (self.repo.root().join("runner"), self.repo.root().join("tools"));
        for folder in [&temp, &tools] {
            _ = std::fs::remove_dir_all(folder);
            std::fs::create_dir_all(folder).unwrap();
        }
        write(&temp, "event.json", payload.to_string());
        if let Some(script) = gh {
            write_script(&tools.join("gh"), script);
        }
        let mut path = tools.into_os_string();
        path.push(":");
        path.push(crate::support::variable("PATH").unwrap());
        let action = yaml("action.yml");
        let mut job = Job {
            code: Some(0),
            log: String::new(),
            outputs: BTreeMap::new(),
            summary: String::new(),
            report: PathBuf::new(),
        };
        for step in action["runs"]["steps"].as_sequence().unwrap() {
            let name = step["id"].as_str().unwrap();
            let script = step["run"].as_str().unwrap();
            let mut vars: Vec<(String, OsString)> = vec![
                ("PATH".to_owned(), path.clone()),
                ("GITHUB_ACTIONS".to_owned(), "true".into()),
                ("GITHUB_EVENT_NAME".to_owned(), event.into()),
                ("GITHUB_EVENT_PATH".to_owned(), temp.join("event.json").into()),
                ("GITHUB_REPOSITORY".to_owned(), "o/r".into()),
                ("GITHUB_SERVER_URL".to_owned(), "https://forge.invalid".into()),
                ("GITHUB_RUN_ID".to_owned(), "7".into()),
                ("RUNNER_TEMP".to_owned(), temp.clone().into()),
                ("GITHUB_OUTPUT".to_owned(), temp.join(format!("{name}.output")).into()),
                ("GITHUB_STEP_SUMMARY".to_owned(), temp.join("summary.md").into()),
            ];
            for (variable, value) in step["env"].as_mapping().into_iter().flatten() {
                let value = evaluate(value.as_str().unwrap(), &job.outputs, token);
                vars.push((variable.as_str().unwrap().to_owned(), value.into()));
            }
            // As the runner starts a `bash` step.
            let mut command = self.repo.command("bash", &workspace);
            let done =
                command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).envs(vars).output().unwrap();
            job.log.push_str(&String::from_utf8_lossy(&[done.stdout, done.stderr].concat()));
            job.code = done.status.code();
            let told = std::fs::read_to_string(temp.join(format!("{name}.output"))).unwrap_or_default();
            for line in told.lines() {
                let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("no output: {line}"));
                job.outputs.insert(format!("{name}.{key}"), value.to_owned());
            }
            if !done.status.success() {
                break;
            }
        }
        job.summary = std::fs::read_to_string(temp.join("summary.md")).unwrap_or_default();
        job.report = PathBuf::from(job.outputs.get("prepare.report").cloned().unwrap_or_default());
        job
    }

    fn pull_request(&self, head: &str, from: &str) -> Json {
        json!({
            "repository": { "full_name": "o/r" },
            "pull_request": {
                "number": 1,
                "title": "::error::forged $(touch pwned)",
                "base": { "ref": "main", "sha": self.base },
                "head": { "sha": head, "ref": "$(touch pwned)", "repo": { "full_name": from } },
            },
        })
    }
}

/// One expression of the action's variables.
fn evaluate(text: &str, outputs: &BTreeMap<String, String>, token: &str) -> String {
    let Some(inner) = text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) else {
        return text.to_owned();
    };
    match inner.split('.').collect::<Vec<_>>()[..] {
        ["inputs", "binary"] => BINARY.to_owned(),
        ["inputs", "token"] => token.to_owned(),
        ["inputs", _] => String::new(),
        ["github", "action_path"] => env!("CARGO_MANIFEST_DIR").to_owned(),
        ["steps", step, "outputs", name] => outputs.get(&format!("{step}.{name}")).cloned().unwrap_or_default(),
        _ => panic!("the action uses {inner}, which this runner does not know"),
    }
}

/// A `gh` that hands what it was told to the test and succeeds. In its box it can write nowhere, but it has a network.
fn telling(listener: &TcpListener) -> String {
    let port = listener.local_addr().unwrap().port();
    format!(
        "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port}\n{{ printf '%s\\n%s\\n%s\\n' \"$*\" \"$GH_TOKEN\" \"$GH_HOST\"; cat; }} >&3\n"
    )
}

#[test]
fn a_pull_request_that_holds_gets_a_check_run_on_its_head() {
    let forge = Forge::new();
    let head = forge.change("good\n");
    let merge = forge.merge(&head);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = telling(&listener);
    let hearer = std::thread::spawn(move || {
        let mut told = String::new();
        listener.accept().unwrap().0.read_to_string(&mut told).unwrap();
        told
    });
    let job = forge.action("pull_request", &forge.pull_request(&head, "o/r"), &merge, "t0ken", Some(&script)).exits(0);
    let told = hearer.join().unwrap();
    let [words, token, host, body] = told.splitn(4, '\n').collect::<Vec<_>>()[..] else { panic!("{told}") };
    assert_eq!(words, "api --method POST repos/o/r/check-runs --input -");
    assert_eq!((token, host), ("t0ken", "forge.invalid"));
    let body: Json = serde_json::from_str(body).unwrap();
    assert_eq!((&body["name"], &body["head_sha"]), (&"countersign / verdict".into(), &head.clone().into()));
    assert_eq!(body["conclusion"], "success");
    assert_eq!(body["details_url"], "https://forge.invalid/o/r/actions/runs/7");
    assert_eq!(job.orders(), [""; 0], "the check run has the annotations");
    let output = |name: &str| job.outputs[&format!("gate.{name}")].clone();
    assert_eq!((output("decision"), output("exit-code"), output("errors")), ("pass".into(), "0".into(), "0".into()));
    assert_eq!((output("head"), output("base"), output("check-run")), (head, forge.base.clone(), "made".into()));
    assert!(job.summary.starts_with("## countersign: PASS\n"), "{}", job.summary);
    let report: Json = serde_json::from_str(&job.file("countersign.json")).unwrap();
    assert_eq!(report["schema"], "countersign/ci/1");
    assert_eq!(report["tree"], forge.repo.git(&["rev-parse", &format!("{merge}^{{tree}}")]));
    for file in ["countersign.sarif", "countersign.junit.xml", "countersign.summary.md"] {
        assert!(!job.file(file).is_empty());
    }
    assert!(!forge.repo.root().join("workspace/pwned").exists());
}

#[test]
fn a_fork_without_a_token_gets_annotations_and_the_same_decision() {
    let forge = Forge::new();
    let head = forge.change("bad\n");
    let merge = forge.merge(&head);
    let refusing = "#!/bin/sh\necho 'HTTP 403: Resource not accessible by integration' >&2; exit 1\n";
    for (token, gh) in [("", None), ("read-only", Some(refusing)), ("read-only", None)] {
        let job = forge.action("pull_request", &forge.pull_request(&head, "x/r"), &merge, token, gh).exits(1);
        assert!(job.log.contains("no check run: "), "{}", job.log);
        assert_eq!((&*job.outputs["gate.decision"], &*job.outputs["gate.check-run"]), ("fail", "none"));
        let orders = job.orders();
        assert!(
            !orders.is_empty()
                && orders.iter().all(|line| line.starts_with("::error title=countersign%3A ")
                    || line.starts_with("::warning title=countersign%3A ")),
            "{orders:?}"
        );
        assert!(orders.iter().any(|line| line.contains("tests-run")), "{orders:?}");
        assert!(job.summary.starts_with("## countersign: FAIL\n"), "{}", job.summary);
        let log: Json = serde_json::from_str(&job.file("countersign.sarif")).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert!(results.iter().any(|one| one["ruleId"] == "tests-run" && one["kind"] == "fail"), "{log}");
    }
}

#[test]
fn a_merge_group_and_a_push_are_judged_like_the_request_they_came_from() {
    let forge = Forge::new();
    for (value, code, decision) in [("good\n", 0, "pass"), ("bad\n", 1, "fail")] {
        let head = forge.change(value);
        let merge = forge.merge(&head);
        let group = json!({ "merge_group": { "base_sha": forge.base, "head_sha": merge } });
        let push = json!({ "before": forge.base, "after": merge, "ref": "refs/heads/main",
                           "repository": { "default_branch": "main" } });
        for (event, payload) in [("merge_group", &group), ("push", &push)] {
            let job = forge.action(event, payload, &merge, "", None).exits(code);
            assert_eq!((&*job.outputs["gate.decision"], &*job.outputs["gate.head"]), (decision, &*merge), "{event}");
        }
    }
}

#[test]
fn an_event_that_names_no_change_is_no_pass() {
    let forge = Forge::new();
    let head = forge.change("good\n");
    let gone = json!({ "before": head, "after": ZERO, "ref": "refs/heads/topic" });
    let job = forge.action("push", &gone, &head, "", None).exits(2);
    assert!(job.log.contains("the push deleted its branch"), "{}", job.log);
    let job = forge.action("pull_request", &json!({ "pull_request": {} }), &head, "", None).exits(2);
    assert!(job.log.contains("give --base and --head"), "{}", job.log);
    let same = json!({ "before": head, "after": head, "ref": "refs/heads/topic" });
    let job = forge.action("push", &same, &head, "", None).exits(3);
    assert_eq!(job.outputs["gate.decision"], "held", "an empty range is held");
}

#[test]
fn a_base_that_moved_since_the_event_is_judged_as_it_is_now() {
    let forge = Forge::new();
    let head = forge.change("good\n");
    let merge = forge.merge(&head);
    // Meanwhile somebody lands a change that makes the request's own base an old one.
    forge.repo.git(&["switch", "-q", "-C", "later", &forge.base]);
    forge.repo.write("other.txt", "landed meanwhile\n");
    let moved = forge.repo.commit("meanwhile");
    forge.repo.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    let job = forge.action("pull_request", &forge.pull_request(&head, "o/r"), &merge, "", None).exits(0);
    assert_eq!(job.outputs["gate.base"], moved);
    let report: Json = serde_json::from_str(&job.file("countersign.json")).unwrap();
    let tree = report["tree"].as_str().unwrap();
    let files = forge.repo.git_in(&forge.repo.root().join("workspace"), &["ls-tree", "--name-only", tree]);
    assert!(files.contains("other.txt") && files.contains("more.txt"), "{files}");
}

#[test]
fn the_gitlab_job_leaves_the_reports_it_promises() {
    let forge = Forge::new();
    let text =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/gate.yml")).unwrap();
    let jobs: serde_yaml::Value = serde_yaml::from_str(text.split("\n---\n").nth(1).unwrap()).unwrap();
    let job = &jobs["countersign"];
    let lines = |part: &str| {
        let lines = job[part].as_sequence().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    };
    let script = format!("set -e\n{}\n{}\n", lines("before_script"), lines("script"))
        .replace("$[[ inputs.install ]]", &format!("countersign() {{ '{BINARY}' \"$@\"; }}"));
    for (value, code, severity) in [("good\n", 0, None), ("bad\n", 1, Some("critical"))] {
        let head = forge.change(value);
        let workspace = forge.checkout(&head);
        forge.repo.git_in(&workspace, &["fetch", "-q", "--unshallow", "origin"]);
        let vars = [
            ("GITLAB_CI", "true"),
            ("CI_PIPELINE_SOURCE", "merge_request_event"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", forge.base.as_str()),
            ("CI_COMMIT_SHA", head.as_str()),
        ];
        let vars = vars.map(|(name, value)| (name, OsStr::new(value)));
        let done = forge.repo.command("sh", &workspace).args(["-c", &script]).envs(vars).output().unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.status.code(), Some(code), "{said}");
        let reports = &job["artifacts"]["reports"];
        let read = |kind: &str| std::fs::read_to_string(workspace.join(reports[kind].as_str().unwrap())).unwrap();
        assert!(read("junit").contains("<testsuite name="), "{said}");
        let issues: Vec<Json> = serde_json::from_str(&read("codequality")).unwrap();
        let worst =
            issues.iter().find(|issue| issue["check_name"] == "tests-run").map(|issue| issue["severity"].clone());
        assert_eq!(worst, severity.map(Json::from), "{issues:?}");
    }
}

#[test]
fn a_folder_that_the_change_made_a_link_is_not_written_into() {
    let forge = Forge::new();
    let head = forge.change("good\n");
    let elsewhere = forge.repo.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, forge.repo.path().join("report")).unwrap();
    let ci = |more: &[&str]| forge.repo.run(&[&["ci", "--base", &forge.base, "--head", &head], more].concat());
    let outcome = ci(&["--format", "json", "--output", "report"]).exits(2);
    assert!(outcome.stderr.contains("it is a link or a file; name a folder"), "{outcome}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    // A link in the folder is replaced, not followed.
    std::fs::create_dir(forge.repo.root().join("out")).unwrap();
    let link = forge.repo.root().join("out/countersign.json");
    std::os::unix::fs::symlink(elsewhere.join("target"), &link).unwrap();
    ci(&["--format", "json", "--output", "../out"]).exits(0);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(link.symlink_metadata().unwrap().is_file());
    for formats in ["json,sarif", "text,json", "gitlab"] {
        let refused = ci(&["--format", formats]).exits(2);
        assert!(refused.stderr.contains("standard output holds one document"), "{refused}");
    }
    for format in ["json", "sarif", "junit", "text"] {
        assert!(!ci(&["--format", format]).exits(0).stdout.is_empty());
    }
}
