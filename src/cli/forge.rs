//! What the forge says about the change under review, read from the environment of its job.
//!
//! GitHub writes the event as JSON into a file, GitLab sets variables, and pre-commit does for a push. Ids are checked,
//! and a branch's name only ever becomes a full reference: both come from whoever opened the request.

use crate::host::env::Env;
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;

/// GitHub's events are at most 25 MB.
const LARGEST_EVENT: u64 = 32 << 20;

/// The change as the forge names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Review {
    /// What happened there, in its own word: `pull_request`, `merge_group`, `push`, `merge_request_event`, …
    pub(super) event: String,
    /// Where the base may be found, the best place first. The tip of the target branch comes before the id that the
    /// forge noted when the job was made: a job that is run again must not judge against last week's branch.
    pub(super) bases: Vec<String>,
    /// The head.
    pub(super) head: String,
    /// True if the head comes from another repository: the job's token can only read.
    pub(super) fork: bool,
}

impl Review {
    /// The first base that this repository has; the last one if it has none, for it to be named as missing.
    pub(super) fn base(&self, is_here: impl Fn(&str) -> bool) -> &str {
        let found = self.bases.iter().find(|base| is_here(base)).or(self.bases.last());
        found.map_or("", String::as_str)
    }
}

/// Why the forge's word cannot be taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForgeError {
    /// The event's file.
    #[error("cannot read the event in {path} (GITHUB_EVENT_PATH): {why}; give --base and --head")]
    Event {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A name or an id that is none.
    #[error("{place} is {value:?}, which is not {wanted}; give --base and --head")]
    Bad {
        /// The variable, or the place in the event.
        place: String,
        /// What stands there.
        value: String,
        /// What should.
        wanted: &'static str,
    },
    /// Nothing is there to be judged.
    #[error("the push deleted its branch ({place} is zero), so there is nothing to judge; do not run the gate for it")]
    Deleted {
        /// Where that was said.
        place: &'static str,
    },
    /// A branch that nothing says where it began.
    #[error(
        "the push made {branch}, and {place} does not say what it grew from; give --base, or gate pull requests only"
    )]
    NoBase {
        /// The branch.
        branch: String,
        /// What was asked.
        place: &'static str,
    },
}

/// The change, or none where no forge names one (a run by hand, a schedule, a manual start).
pub(super) fn review(env: &Env) -> Result<Option<Review>, ForgeError> {
    if env.text("GITHUB_ACTIONS") == Some("true") {
        return github(env);
    }
    if env.text("GITLAB_CI") == Some("true") {
        return gitlab(env);
    }
    match (env.text("PRE_COMMIT_FROM_REF"), env.text("PRE_COMMIT_TO_REF")) {
        (Some(from), Some(to)) => Ok(Some(Review {
            event: "pre-push".to_owned(),
            bases: vec![id("PRE_COMMIT_FROM_REF", from)?],
            head: id("PRE_COMMIT_TO_REF", to)?,
            fork: false,
        })),
        _ => Ok(None),
    }
}

fn github(env: &Env) -> Result<Option<Review>, ForgeError> {
    let name = env.text("GITHUB_EVENT_NAME").unwrap_or_default();
    let read = match name {
        "pull_request" | "pull_request_target" => pull_request,
        "merge_group" => merge_group,
        "push" => push,
        _ => return Ok(None),
    };
    let review = read(&event(env)?, env)?;
    Ok(Some(Review { event: name.to_owned(), ..review }))
}

/// The event that started the job.
fn event(env: &Env) -> Result<Value, ForgeError> {
    let path = PathBuf::from(env.get("GITHUB_EVENT_PATH").unwrap_or_default());
    let refused = |why: String| ForgeError::Event { path: path.clone(), why };
    let file = std::fs::File::open(&path).map_err(|why| refused(why.to_string()))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_EVENT + 1).read_to_end(&mut bytes).map_err(|why| refused(why.to_string()))?;
    if bytes.len() as u64 > LARGEST_EVENT {
        return Err(refused(format!("it is larger than {LARGEST_EVENT} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|why| refused(format!("it is not JSON: {why}")))
}

fn pull_request(event: &Value, env: &Env) -> Result<Review, ForgeError> {
    let request = &event["pull_request"];
    let noted = text(&request["base"]["sha"]);
    let branch = request["base"]["ref"].as_str().or_else(|| env.text("GITHUB_BASE_REF")).unwrap_or_default();
    let (ours, theirs) = (&event["repository"]["full_name"], &request["head"]["repo"]["full_name"]);
    Ok(Review {
        event: String::new(),
        bases: vec![tracked("pull_request.base.ref", branch)?, id("pull_request.base.sha", noted)?],
        head: id("pull_request.head.sha", text(&request["head"]["sha"]))?,
        // The repository of a fork that was deleted is null: not ours either.
        fork: theirs != ours,
    })
}

fn merge_group(event: &Value, _: &Env) -> Result<Review, ForgeError> {
    let group = &event["merge_group"];
    Ok(Review {
        event: String::new(),
        bases: vec![id("merge_group.base_sha", text(&group["base_sha"]))?],
        head: id("merge_group.head_sha", text(&group["head_sha"]))?,
        fork: false,
    })
}

fn push(event: &Value, _: &Env) -> Result<Review, ForgeError> {
    let (before, after) = (text(&event["before"]), text(&event["after"]));
    let head = id("after", after)?;
    if is_zero(&head) {
        return Err(ForgeError::Deleted { place: "after" });
    }
    let before = id("before", before)?;
    let base = if is_zero(&before) {
        let branch = text(&event["ref"]);
        let default = text(&event["repository"]["default_branch"]);
        if default.is_empty() || branch.strip_prefix("refs/heads/") == Some(default) {
            return Err(ForgeError::NoBase { branch: branch.to_owned(), place: "repository.default_branch" });
        }
        tracked("repository.default_branch", default)?
    } else {
        before
    };
    Ok(Review { event: String::new(), bases: vec![base], head, fork: false })
}

fn gitlab(env: &Env) -> Result<Option<Review>, ForgeError> {
    let get = |name: &str| env.text(name).unwrap_or_default();
    let source = get("CI_PIPELINE_SOURCE");
    let commit = || id("CI_COMMIT_SHA", get("CI_COMMIT_SHA"));
    if source == "merge_request_event" {
        let (target, own) = (get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA"), get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"));
        // Only a pipeline for merged results has these two; its commit is a merge that lives for the pipeline alone. In a
        // merge train that merge is what will land, with what the train has in front of it.
        let train = get("CI_MERGE_REQUEST_EVENT_TYPE") == "merge_train";
        let (bases, head) = if target.is_empty() {
            let branch = tracked("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"))?;
            let noted = id("CI_MERGE_REQUEST_DIFF_BASE_SHA", get("CI_MERGE_REQUEST_DIFF_BASE_SHA"))?;
            (vec![branch, noted], commit()?)
        } else {
            let base = id("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", target)?;
            let head = if train || own.is_empty() { commit()? } else { id("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", own)? };
            (vec![base], head)
        };
        let fork = get("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH") != get("CI_MERGE_REQUEST_PROJECT_PATH");
        return Ok(Some(Review { event: source.to_owned(), bases, head, fork }));
    }
    if source != "push" {
        return Ok(None);
    }
    let before = id("CI_COMMIT_BEFORE_SHA", get("CI_COMMIT_BEFORE_SHA"))?;
    let base = if is_zero(&before) {
        let (branch, default) = (get("CI_COMMIT_BRANCH"), get("CI_DEFAULT_BRANCH"));
        if default.is_empty() || branch == default {
            return Err(ForgeError::NoBase { branch: branch.to_owned(), place: "CI_DEFAULT_BRANCH" });
        }
        tracked("CI_DEFAULT_BRANCH", default)?
    } else {
        before
    };
    Ok(Some(Review { event: source.to_owned(), bases: vec![base], head: commit()?, fork: false }))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

/// A full object id and nothing that git could take for an option or an expression.
fn id(place: &str, value: &str) -> Result<String, ForgeError> {
    let hex = value.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if hex && matches!(value.len(), 40 | 64) {
        return Ok(value.to_owned());
    }
    Err(ForgeError::Bad { place: place.to_owned(), value: shortened(value), wanted: "a full object id" })
}

/// The branch as the checkout fetched it.
fn tracked(place: &str, branch: &str) -> Result<String, ForgeError> {
    let bad = branch.is_empty()
        || branch.contains("..")
        || branch.contains("@{")
        || branch.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c));
    if bad {
        return Err(ForgeError::Bad { place: place.to_owned(), value: shortened(branch), wanted: "a branch's name" });
    }
    Ok(format!("refs/remotes/origin/{branch}"))
}

fn shortened(value: &str) -> String {
    value.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const ZERO: &str = "0000000000000000000000000000000000000000";

    fn on_github(name: &str, event: &Value) -> Result<Option<Review>, ForgeError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("event.json");
        std::fs::write(&file, event.to_string()).unwrap();
        let pairs = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", name)];
        let pairs = pairs.into_iter().chain([("GITHUB_EVENT_PATH", file.to_str().unwrap())]);
        review(&Env::of(pairs))
    }

    fn pull(base: &str, head: &str, from: &Value) -> Value {
        json!({
            "repository": { "full_name": "o/r" },
            "pull_request": {
                "base": { "ref": "main", "sha": base },
                "head": { "sha": head, "repo": from },
            },
        })
    }

    #[test]
    fn a_pull_request_is_measured_against_the_tip_of_its_target() {
        let found = on_github("pull_request", &pull(A, B, &json!({ "full_name": "o/r" }))).unwrap().unwrap();
        assert_eq!(found.bases, ["refs/remotes/origin/main", A]);
        assert_eq!((found.head.as_str(), found.fork, found.event.as_str()), (B, false, "pull_request"));
        assert_eq!(found.base(|_| true), "refs/remotes/origin/main");
        assert_eq!(found.base(|base| base == A), A, "a checkout without the branch has the id");
        assert_eq!(found.base(|_| false), A, "a base that is missing is named");
    }

    #[test]
    fn a_request_from_another_repository_is_a_forks_also_when_that_is_gone() {
        for from in [json!({ "full_name": "x/r" }), Value::Null] {
            assert!(on_github("pull_request", &pull(A, B, &from)).unwrap().unwrap().fork);
        }
    }

    #[test]
    fn a_merge_group_and_a_push_name_both_ends() {
        let group = json!({ "merge_group": { "base_sha": A, "head_sha": B } });
        let found = on_github("merge_group", &group).unwrap().unwrap();
        assert_eq!((found.bases, found.head.as_str()), (vec![A.to_owned()], B));
        let found = on_github("push", &json!({ "before": A, "after": B, "ref": "refs/heads/main" })).unwrap().unwrap();
        assert_eq!((found.bases, found.head.as_str()), (vec![A.to_owned()], B));
    }

    #[test]
    fn a_new_branch_is_measured_from_the_default_branch_and_a_deleted_one_not_at_all() {
        let made = |branch: &str| {
            json!({ "before": ZERO, "after": B, "ref": format!("refs/heads/{branch}"),
                    "repository": { "default_branch": "main" } })
        };
        let found = on_github("push", &made("topic")).unwrap().unwrap();
        assert_eq!(found.bases, ["refs/remotes/origin/main"]);
        assert!(matches!(on_github("push", &made("main")), Err(ForgeError::NoBase { .. })));
        let gone = json!({ "before": A, "after": ZERO, "ref": "refs/heads/topic" });
        assert!(matches!(on_github("push", &gone), Err(ForgeError::Deleted { .. })));
    }

    #[test]
    fn an_event_is_never_half_believed() {
        let ours = json!({ "full_name": "o/r" });
        for (base, head) in [("", B), (A, "main"), (A, "--upload-pack=x"), (A, "HEAD~1")] {
            assert!(matches!(on_github("pull_request", &pull(base, head, &ours)), Err(ForgeError::Bad { .. })));
        }
        for name in ["a..b", "main^{/x}", "x@{1}", "a b", "a\nb", ""] {
            let mut event = pull(A, B, &ours);
            event["pull_request"]["base"]["ref"] = json!(name);
            assert!(matches!(on_github("pull_request", &event), Err(ForgeError::Bad { .. })), "{name}");
        }
        let gone = review(&Env::of([("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "push")]));
        assert!(matches!(gone, Err(ForgeError::Event { .. })));
        assert_eq!(on_github("schedule", &json!({})).unwrap(), None);
        assert_eq!(review(&Env::default()).unwrap(), None);
    }

    fn on_gitlab(pairs: &[(&str, &str)]) -> Result<Option<Review>, ForgeError> {
        review(&Env::of([("GITLAB_CI", "true")].into_iter().chain(pairs.iter().copied())))
    }

    #[test]
    fn gitlab_names_the_change_by_the_kind_of_its_pipeline() {
        let request = [
            ("CI_PIPELINE_SOURCE", "merge_request_event"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", A),
            ("CI_MERGE_REQUEST_PROJECT_PATH", "g/p"),
            ("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "g/p"),
            ("CI_COMMIT_SHA", B),
        ];
        let found = on_gitlab(&request).unwrap().unwrap();
        assert_eq!(
            (found.bases.as_slice(), found.head.as_str()),
            (&["refs/remotes/origin/main".into(), A.into()][..], B)
        );
        assert!(!found.fork);
        let (target, own, merge) = (A, B, "cccccccccccccccccccccccccccccccccccccccc");
        let mut merged = vec![
            ("CI_PIPELINE_SOURCE", "merge_request_event"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", target),
            ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", own),
            ("CI_COMMIT_SHA", merge),
        ];
        let found = on_gitlab(&merged).unwrap().unwrap();
        assert_eq!((found.bases, found.head.as_str()), (vec![target.to_owned()], own));
        merged.push(("CI_MERGE_REQUEST_EVENT_TYPE", "merge_train"));
        assert_eq!(on_gitlab(&merged).unwrap().unwrap().head, merge);
        let push = [("CI_PIPELINE_SOURCE", "push"), ("CI_COMMIT_BEFORE_SHA", A), ("CI_COMMIT_SHA", B)];
        assert_eq!(on_gitlab(&push).unwrap().unwrap().bases, [A]);
        assert_eq!(on_gitlab(&[("CI_PIPELINE_SOURCE", "schedule")]).unwrap(), None);
    }

    #[test]
    fn a_push_hook_names_both_ends() {
        let found = review(&Env::of([("PRE_COMMIT_FROM_REF", A), ("PRE_COMMIT_TO_REF", B)])).unwrap().unwrap();
        assert_eq!((found.bases, found.head.as_str()), (vec![A.to_owned()], B));
    }
}
