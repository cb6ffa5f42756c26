//! What a worker is told: a pure function of the task, the place and what is known about the surroundings.

use super::report::Generation;
use crate::agent::kit::WORKER_PROMPT;
use crate::host::path::escape;
use crate::task::Task;
use std::fmt::Write as _;
use std::path::Path;

/// Why a worker is sent out, in what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion<'a> {
    /// For the first time, or once more after a stop.
    Begin,
    /// The last claim was false, for these reasons.
    Mend(&'a [String]),
    /// The work may be there; its report was lost.
    Report,
    /// The target was merged in and met the work.
    Resolve {
        /// The files in which they met: the only ones that may be changed.
        paths: &'a [String],
        /// The commits that changed them on the target, one line each.
        with: &'a [String],
        /// The target's commit that was merged in.
        tip: &'a str,
    },
}

/// A page that belongs to the surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its path from the top of the worktree.
    pub path: String,
    /// Its text, cut.
    pub text: String,
}

/// Everything a worker is told.
#[derive(Debug, Clone, Copy)]
pub struct Mission<'a> {
    /// The task, as its base has it.
    pub task: &'a Task,
    /// Its worktree.
    pub worktree: &'a Path,
    /// Where the report goes; the one place outside the worktree that it may write.
    pub report: &'a Path,
    /// The iteration, from 1.
    pub iteration: u32,
    /// The report's form: `E` is written in blocks, `A` as a header.
    pub form: Generation,
    /// Why it is sent out.
    pub occasion: Occasion<'a>,
    /// README of the context, related decision records, prior art.
    pub pages: &'a [Page],
    /// The newest entries of the diary.
    pub recent: &'a str,
}

impl Mission<'_> {
    /// The text.
    pub fn brief(&self) -> String {
        let mut text = String::from(orders());
        let id = self.task.id.as_ref().map_or("", |id| id.as_str());
        let form = if self.form == Generation::A { "header" } else { "blocks" };
        _ = write!(
            text,
            "\n# Your errand\n\n- Task: `{id}`\n- Worktree: `{}`\n- Report: `{}`\n- Iteration: {}\n- Form: `{form}`\n\n",
            shown(self.worktree),
            shown(self.report),
            self.iteration
        );
        text.push_str(&self.occasion());
        text.push_str("\n## The task\n\n");
        text.push_str(&fenced(&self.task.text));
        for page in self.pages {
            _ = write!(text, "\n## From `{}`\n\n{}", page.path, fenced(&page.text));
        }
        if !self.recent.trim().is_empty() {
            _ = write!(text, "\n## Recent activity\n\n{}", fenced(self.recent));
        }
        text
    }

    fn occasion(&self) -> String {
        let list = |items: &[String]| items.iter().map(|item| format!("- {}\n", item.replace('\n', "\n  "))).collect();
        match self.occasion {
            Occasion::Begin => "Do the task. If the worktree holds work already, go on from it.\n".to_owned(),
            Occasion::Mend(reasons) => {
                let reasons: String = list(reasons);
                format!("Your last claim was false. Mend each of these first, in the same worktree:\n\n{reasons}")
            }
            Occasion::Report => {
                "Your report was lost: none was readable at its place. The worktree is as you left it. See \
                                 that the work is finished, and write the report.\n"
                    .to_owned()
            }
            Occasion::Resolve { paths, with, tip } => {
                let (paths, with): (String, String) = (list(paths), list(with));
                let landed = if with.is_empty() { "- (no commit could be named)\n".to_owned() } else { with };
                format!(
                    "The target branch, at {tip}, was merged into your work, and both changed the same places. This is what \
                     landed there:\n\n{landed}\nIn the files below, the part before `=======` is the target's: it is verified \
                     and landed, and it stays true. The part after `=======` is yours. Make one text that keeps both \
                     intents; where they exclude each other, the target's holds. Remove every marker. These are the only \
                     files you may change now; the merge itself is recorded already:\n\n{paths}"
                )
            }
        }
    }
}

/// The worker's standing orders, without what only a program that loads them needs.
fn orders() -> &'static str {
    let body = WORKER_PROMPT.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    body.map_or(WORKER_PROMPT, |(_, body)| body.trim_start())
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

/// A text between fences that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '~').map(str::len).max().unwrap_or(0);
    let fence = "~".repeat(longest.max(3) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::read_task;

    #[test]
    fn a_worker_is_told_its_place_its_task_and_what_to_mend() {
        let page = "---\nid: w-1\ntitle: t\n---\n## Acceptance criteria\n- [ ] a\n\n~~~~\ncode\n~~~~\n";
        let task = read_task(page.as_bytes(), &"w-1.md".into()).unwrap();
        let reasons = ["tests: expected green\nobserved red".to_owned()];
        let mission = Mission {
            task: &task,
            worktree: Path::new("/r/.worktrees/w-1"),
            report: Path::new("/r/inbox/w-1.iter-2.md"),
            iteration: 2,
            form: Generation::E,
            occasion: Occasion::Mend(&reasons),
            pages: &[Page { path: "README.md".to_owned(), text: "words".to_owned() }],
            recent: "",
        };
        let brief = mission.brief();
        assert!(brief.starts_with("# You are the worker"));
        for words in [
            "- Worktree: `/r/.worktrees/w-1`",
            "- Report: `/r/inbox/w-1.iter-2.md`",
            "- Iteration: 2",
            "- Form: `blocks`",
            "- tests: expected green\n  observed red\n",
            "~~~~~\n---\nid: w-1",
            "## From `README.md`",
        ] {
            assert!(brief.contains(words), "{words}\n{brief}");
        }
        assert!(!brief.contains("Recent activity"));
        let (paths, with) = (["src/a b.rs".to_owned()], ["1234567 feature(w): w-2 is made [w-2]".to_owned()]);
        let occasion = Occasion::Resolve { paths: &paths, with: &with, tip: "0123abc" };
        let brief = Mission { occasion, ..mission }.brief();
        for words in [
            "at 0123abc",
            "- 1234567 feature(w): w-2 is made [w-2]\n",
            "before `=======` is the target's",
            "- src/a b.rs\n",
        ] {
            assert!(brief.contains(words), "{words}\n{brief}");
        }
        let errand = brief.split("# Your errand").nth(1).unwrap();
        assert!(!errand.contains("git "), "a resolver is told no command: {errand}");
    }
}
