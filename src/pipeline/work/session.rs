//! The end of a run on the board: what came of it, what is carried over, and the rotation of diary and done lists; and
//! what others committed since the last one.

use super::crew::diary;
use super::settings::Terms;
use super::{End, TaskEnd, WorkError, WorkEvent};
use crate::host::clock::Timestamp;
use crate::host::git::Repo;
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::host::redact;
use crate::integrate::books::{Diary, Rotated, rotate_diary, rotate_done_list};
use crate::integrate::{BoardWriteError, Books, BooksError, Pages, with_books, write_board};
use crate::task::frontmatter::Frontmatter;
use crate::task::layout::{ContextName, Folder};
use crate::task::text::Text;
use crate::task::{TaskId, read_task};
use std::collections::{BTreeMap, BTreeSet};

/// The heading that ends a session, alone on its line: the peer's tools look for exactly this.
const ENDED: &str = "Work session ended";

/// Files and commits that are named one by one; the rest is counted.
const MOST_NAMED: usize = 20;

/// Pages larger than this are not rotated.
const LARGEST_PAGE: u64 = 8 << 20;

/// What a run did, counted as it happened.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// True once anything was done that is worth an entry.
    pub(super) acted: bool,
    sent: u32,
    repeated: u32,
}

impl Tally {
    pub(super) fn see(&mut self, event: &WorkEvent) {
        use super::journal::Errand;
        use super::step::Step;
        match event {
            WorkEvent::Step { step: Step::Teardown, .. }
            | WorkEvent::Phase { .. }
            | WorkEvent::Ended(_)
            | WorkEvent::Report(_) => {}
            WorkEvent::Step { step: Step::Send { errand, .. }, .. } => {
                self.acted = true;
                self.sent += 1;
                self.repeated += u32::from(*errand == Errand::Repeat);
            }
            WorkEvent::Step { .. } | WorkEvent::Taken { .. } => self.acted = true,
        }
    }
}

/// How a run began.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) at: Timestamp,
    pub(super) tip: Option<CommitId>,
    /// What others committed since the last session's end, in a sentence.
    pub(super) others: Option<String>,
}

impl Beginning {
    pub(super) fn look(repo: &Repo, terms: &Terms) -> Result<Self, WorkError> {
        let (at, tip) = (repo.host().clock.now(), repo.read_ref(&terms.target)?);
        Ok(Self { at, tip, others: others(repo, terms)? })
    }
}

/// Writes the entry that ends a session, then rotates what has become too long.
pub(super) fn end_session(
    repo: &Repo,
    terms: &Terms,
    ends: &[TaskEnd],
    tally: &Tally,
    began: &Beginning,
) -> Result<(), WorkError> {
    let at = repo.host().clock.now();
    let fields = fields(repo, terms, ends, tally, began, at)?;
    let last = ends.last().map(|end| format!(" [{}]", end.task)).unwrap_or_default();
    let contexts: BTreeSet<&str> = ends.iter().filter_map(|end| context_of(&end.task)).collect();
    let scope = match contexts.iter().collect::<Vec<_>>().as_slice() {
        [only] => format!("({only})"),
        _ => String::new(),
    };
    let message = format!("chore{scope}: work session end bookkeeping{last}\n");
    write_board(repo, &terms.target, at, &message, &|tree| {
        diary(repo, tree, terms.layout, &Diary { at, title: ENDED, fields: &fields })
    })?;
    rotate(repo, terms, &contexts, at, &last)
}

fn context_of(id: &str) -> Option<&str> {
    id.rsplit_once('-').map(|(context, _)| context).filter(|context| !context.is_empty())
}

fn fields(
    repo: &Repo,
    terms: &Terms,
    ends: &[TaskEnd],
    tally: &Tally,
    began: &Beginning,
    at: Timestamp,
) -> Result<Vec<(&'static str, String)>, WorkError> {
    let of = |wanted: &dyn Fn(&End) -> bool| -> String {
        let ids: Vec<&str> = ends.iter().filter(|end| wanted(&end.end)).map(|end| end.task.as_str()).collect();
        or_none(&ids)
    };
    let code = |codes: &'static [&'static str]| move |end: &End| matches!(end, End::Held { code, .. } if codes.contains(&code.as_str()));
    let minutes = at.0.saturating_sub(began.at.0).div_ceil(60);
    let mut fields = vec![
        ("Type", "Work / Session end".to_owned()),
        ("Duration", format!("{minutes} min")),
        ("Completed", of(&|end| matches!(end, End::Landed { .. }))),
        ("Bounced", of(&|end| matches!(end, End::Bounced))),
        ("Failed", of(&|end| matches!(end, End::Stopped { .. }) || code(&["worker-failed"])(end))),
        ("Escalated after verification", of(&code(&["escalated", "task-under-specified", "metric-drift"]))),
        ("Lost-result re-dispatches", tally.repeated.to_string()),
        ("Lost-result escalations", of(&code(&["lost-result"]))),
        ("Dispatches", tally.sent.to_string()),
        ("Commits", commits(repo, terms, began)?),
        ("Vision-conformance", "not assessed".to_owned()),
        ("Batch mix", mix(repo, ends)?),
        ("Carry-over", carry_over(repo, terms, ends)?),
    ];
    if let Some(others) = &began.others {
        fields.push(("Out-of-band", others.clone()));
    }
    Ok(fields)
}

fn or_none(items: &[&str]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// How many commits the target got meanwhile.
fn commits(repo: &Repo, terms: &Terms, began: &Beginning) -> Result<String, WorkError> {
    let Some(tip) = &began.tip else { return Ok("not known".to_owned()) };
    let range = format!("{tip}..{}", terms.target);
    Ok(repo.git().run(["rev-list", "--count", "--first-parent", &range])?.line())
}

/// The types of the tasks that landed.
fn mix(repo: &Repo, ends: &[TaskEnd]) -> Result<String, WorkError> {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for end in ends {
        let End::Landed { commit } = &end.end else { continue };
        let subject = repo.git().run(["show", "-s", "--format=%s", commit])?.line();
        let kind = subject.split(['(', ':']).next().unwrap_or_default();
        let plain = !kind.is_empty() && kind.len() < 20 && kind.bytes().all(|b| b.is_ascii_lowercase());
        *kinds.entry(if plain { kind.to_owned() } else { "other".to_owned() }).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    Ok(or_none(&kinds.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// What is left: each worktree with its reason and its saved copy, each board file that is not committed, and how many
/// files of the user's own.
fn carry_over(repo: &Repo, terms: &Terms, ends: &[TaskEnd]) -> Result<String, WorkError> {
    let mut items = Vec::new();
    for entry in std::fs::read_dir(terms.top.join(".worktrees")).into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| TaskId::new(name).ok()) else { continue };
        if !entry.path().is_dir() {
            continue;
        }
        let end = ends.iter().find(|end| end.task == id.as_str());
        let why = match end.map(|end| (&end.end, &end.kept)) {
            Some((_, Some(_))) => "could not be removed".to_owned(),
            Some((End::Held { code, .. }, _)) => code.clone(),
            Some((End::Stopped { .. }, _)) => "stopped".to_owned(),
            Some(_) => "kept".to_owned(),
            None => "not of this session".to_owned(),
        };
        let saved = end.and_then(|end| end.saved.last());
        let name = saved.map(|place| place.rsplit('/').next().unwrap_or(place));
        let saved = name.map(|name| format!(", saved as {name}")).unwrap_or_default();
        items.push(format!(".worktrees/{id} ({why}{saved})"));
    }
    items.sort();
    if let [checkout] = repo.checkouts_of(&terms.target)?.as_slice() {
        items.extend(uncommitted(&repo.discover_beside(checkout)?)?);
    }
    let more = items.len().saturating_sub(MOST_NAMED);
    items.truncate(MOST_NAMED);
    if more > 0 {
        items.push(format!("and {more} more"));
    }
    Ok(or_none(&items.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Files of a checkout that no commit has: the board's one by one, the others as a number.
fn uncommitted(checkout: &Repo) -> Result<Vec<String>, WorkError> {
    let words = ["status", "--porcelain=v1", "--no-renames", "--untracked-files=all", "-z"];
    let listed = checkout.git().run(words)?.stdout;
    let paths: Vec<&[u8]> = listed.split(|byte| *byte == 0).filter_map(|line| line.get(3..)).collect();
    let (board, own): (Vec<&[u8]>, Vec<&[u8]>) = paths.into_iter().partition(|path| path.starts_with(b".agentheim/"));
    let mut items: Vec<String> = board.iter().map(|path| format!("{} (not committed)", escape(path))).collect();
    if !own.is_empty() {
        items.push(format!("left behind (user WIP, {} files)", own.len()));
    }
    Ok(items)
}

/// What was committed since the last session ended without a task's id in its subject: by people, or by the project's
/// own tools. None before the first session, or if there is nothing.
fn others(repo: &Repo, terms: &Terms) -> Result<Option<String>, WorkError> {
    let Some(tip) = repo.read_ref(&terms.target)? else { return Ok(None) };
    let path = terms.layout.protocol();
    let Some(bytes) = repo.file(&repo.tree_of(&tip)?, &path, LARGEST_PAGE)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let ended =
        |line: &&str| line.trim_end().strip_prefix("## ").is_some_and(|rest| rest.ends_with(&format!(" -- {ENDED}")));
    let Some(heading) = text.lines().find(ended).map(str::trim_end) else { return Ok(None) };
    let (search, place) = (format!("-S{heading}"), path.to_string());
    let words = ["log", "-1", "--format=%H", "--no-renames", &search, terms.target.as_str(), "--", &place];
    let Ok(since) = CommitId::new(&repo.git().run(words)?.line()) else { return Ok(None) };
    let range = format!("{since}..{tip}");
    let listed = repo.git().run(["log", "--no-merges", "--format=%h %s", &range])?.stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let untrailed: Vec<&str> = listed.lines().filter(|line| !has_token(subject_of(line))).collect();
    let (machine, people): (Vec<&str>, Vec<&str>) =
        untrailed.into_iter().partition(|line| is_machines(subject_of(line)));
    if machine.is_empty() && people.is_empty() {
        return Ok(None);
    }
    let mut shown: Vec<String> = people.iter().take(MOST_NAMED).map(|line| redact::redact_text(line)).collect();
    if people.len() > MOST_NAMED {
        shown.push(format!("and {} more", people.len() - MOST_NAMED));
    }
    let shown = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join("; ")) };
    Ok(Some(format!("since {}: {} by people{shown}, {} by tools", since.short(), people.len(), machine.len())))
}

fn subject_of(line: &str) -> &str {
    line.split_once(' ').map_or("", |(_, subject)| subject)
}

/// True if a subject names a task or a session, as `[id]`.
fn has_token(subject: &str) -> bool {
    let ends =
        |rest: &str| rest.split_once(']').is_some_and(|(token, _)| !token.is_empty() && !token.contains([' ', '[']));
    subject.match_indices('[').any(|(at, _)| ends(&subject[at + 1..]))
}

/// True for the subjects that the project's own tools write without a task's id (agentheim.md §5.2).
fn is_machines(subject: &str) -> bool {
    let Some((kind, words)) = subject.split_once(": ") else { return false };
    let (kind, scope) = kind.split_once('(').map_or((kind, ""), |(kind, scope)| (kind, scope.trim_end_matches(')')));
    let begins = |heads: &[&str]| heads.iter().any(|head| words.starts_with(head));
    match kind {
        "model" => begins(&["consolidate "]) && words.ends_with(" README"),
        "chore" if scope == "release" => words.starts_with('v') && !words.contains(' '),
        "chore" => begins(&[
            "dismiss ",
            "brainstorm ",
            "research ",
            "reconcile stranded ",
            "work session end bookkeeping",
            "rotate protocol ",
            "rotate INDEX done-list ",
            "heal INDEX done-list ",
            "capture ",
        ]),
        _ => false,
    }
}

/// Moves what is old out of the diary and out of the done lists of these contexts, one commit each. A page that cannot be
/// rotated stays as it is: it is only long.
fn rotate(repo: &Repo, terms: &Terms, contexts: &BTreeSet<&str>, at: Timestamp, last: &str) -> Result<(), WorkError> {
    let layout = terms.layout;
    let (diary, archive) = (layout.protocol(), layout.protocol_archive());
    rotate_page(repo, terms, at, (&diary, &archive), &|_, text| rotate_diary(text).ok().flatten(), &|months| {
        format!("chore: rotate protocol — {months}{last}\n")
    })?;
    for name in contexts {
        let Ok(context) = ContextName::new(name) else { continue };
        let (index, archive) = (layout.task_index(&context), layout.done_archive(&context));
        let rotated = |tree: &TreeId, text: &str| {
            let month = |line: &str| completed(repo, terms, tree, &context, line);
            rotate_done_list(text, &month).ok().flatten()
        };
        rotate_page(repo, terms, at, (&index, &archive), &rotated, &|months| {
            format!("chore({context}): rotate INDEX done-list — {context}:{months}{last}\n")
        })?;
    }
    Ok(())
}

/// The month in which the task of a done line was completed, as its page says.
fn completed(repo: &Repo, terms: &Terms, tree: &TreeId, context: &ContextName, line: &str) -> Option<String> {
    let file = line.rsplit_once("`done/")?.1.split_once('`')?.0;
    let path = RepoPath::from(format!("{}/{file}", terms.layout.folder(context, Folder::Done)).as_str());
    let bytes = repo.file(tree, &path, LARGEST_PAGE).ok()??;
    read_task(&bytes, &path).ok()?;
    let front = Frontmatter::read(Text::read(&bytes).ok()?).ok()?;
    let month = front.raw("completed").ok()??.get(..7)?;
    let shaped = month.bytes().enumerate().all(|(at, b)| if at == 4 { b == b'-' } else { b.is_ascii_digit() });
    shaped.then(|| month.to_owned())
}

/// Rotates one page into its archive by one commit, if it is too long.
fn rotate_page(
    repo: &Repo,
    terms: &Terms,
    at: Timestamp,
    (page, archive): (&RepoPath, &RepoPath),
    rotated: &dyn Fn(&TreeId, &str) -> Option<Rotated>,
    message: &dyn Fn(&str) -> String,
) -> Result<(), WorkError> {
    let look = |tree: &TreeId| -> Result<Option<Rotated>, BooksError> {
        let bytes = repo.file(tree, page, LARGEST_PAGE)?.filter(|bytes| bytes.len() < 8 << 20);
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()).and_then(|text| rotated(tree, &text)))
    };
    let Some(tip) = repo.read_ref(&terms.target)? else { return Ok(()) };
    let Some(first) = look(&repo.tree_of(&tip)?).map_err(BoardWriteError::from)? else { return Ok(()) };
    write_board(repo, &terms.target, at, &message(&first.names()), &|tree| {
        let Some(rotated) = look(tree)? else { return Ok(tree.clone()) };
        let mut books = Books::default();
        for (month, text) in rotated.months {
            let place = RepoPath::from(format!("{archive}/{month}.md").as_str());
            // What is there already stays in front, whatever its bytes are.
            let mut bytes = books.edits.remove(&place).flatten().unwrap_or_default();
            if bytes.is_empty() {
                bytes = repo.file(tree, &place, LARGEST_PAGE)?.unwrap_or_default();
            }
            bytes.extend_from_slice(text.as_bytes());
            books.edits.insert(place, Some(bytes));
        }
        books.edits.insert(page.clone(), Some(rotated.page.into_bytes()));
        Ok(with_books(repo, tree, &Pages::default(), books)?)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_tasks_a_tools_or_a_persons() {
        for (subject, token, tools) in [
            ("feature(shop): it sells [shop-1]", true, false),
            ("chore: batch start [a-1] [a-2]", true, false),
            ("fix the [broken thing] again", false, false),
            ("Fix a typo", false, false),
            ("feat(shop): add it", false, false),
            ("chore(release): v1.2.3", false, true),
            ("chore(release): prepare v1.2.3", false, false),
            ("chore(shop): brainstorm prices — vision created", false, true),
            ("chore: research tills", false, true),
            ("model(shop): consolidate shop README", false, true),
            ("model(shop): refine something", false, false),
            ("chore(shop): dismiss shop-3", false, true),
            ("chore(shop): tidy", false, false),
        ] {
            assert_eq!((has_token(subject), is_machines(subject)), (token, tools), "{subject}");
        }
    }
}
