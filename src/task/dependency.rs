//! Which task a reference means, whether it is done, and who waits for whom in a circle.

use super::board::{Board, Listed, stem};
use super::layout::Folder;
use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which rule found a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Its frontmatter id is the reference, byte for byte.
    ExactId,
    /// Its file is `<reference>.md`, or begins with `<reference>-` (agentheim.md §2.1).
    FileName,
}

/// What a reference leads to on a board.
#[derive(Debug, Clone, Copy)]
pub enum Found<'a> {
    /// One file.
    One(&'a Listed, Rule),
    /// Nothing.
    None,
}

/// More than one file answers to a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reference:?} may mean any of {}; keep one", list(paths))]
pub struct Ambiguous {
    /// What was asked for.
    pub reference: String,
    /// All files that answer to it.
    pub paths: Vec<RepoPath>,
}

fn list(paths: &[RepoPath]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}

/// How one `depends_on` item stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dependency {
    /// The item as written.
    pub reference: String,
    /// How it stands.
    #[serde(flatten)]
    pub state: DependencyState,
}

/// Only `done` is satisfied: what cannot be found or told apart is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum DependencyState {
    /// The task stands in a `done` folder.
    Done {
        /// Where.
        path: RepoPath,
        /// What found it.
        rule: Rule,
    },
    /// The task stands elsewhere.
    Open {
        /// Where.
        path: RepoPath,
        /// What found it.
        rule: Rule,
        /// In which folder.
        folder: Folder,
    },
    /// The one file that answers to it cannot be read.
    Unreadable {
        /// Where.
        path: RepoPath,
    },
    /// No task answers to it.
    Missing,
    /// Several do.
    Ambiguous {
        /// All of them.
        paths: Vec<RepoPath>,
    },
}

impl DependencyState {
    /// True if the task may start as far as this item goes.
    pub fn is_satisfied(&self) -> bool {
        matches!(self, Self::Done { .. })
    }
}

impl Board {
    /// Finds the task a reference means: by exact id, else by Agentheim's file-name rule.
    ///
    /// # Errors
    /// [`Ambiguous`] with all paths. An unreadable file whose name answers to the reference counts as a candidate too:
    /// it may be the half of an interrupted move.
    pub fn find(&self, reference: &str) -> Result<Found<'_>, Ambiguous> {
        let by_name: Vec<&Listed> = self.tasks.iter().filter(|listed| answers(listed, reference)).collect();
        let mut exact: Vec<&Listed> =
            self.tasks.iter().filter(|listed| listed.claimed_id.as_deref() == Some(reference)).collect();
        let known = !exact.is_empty();
        if known {
            exact.extend(by_name.iter().filter(|listed| listed.claimed_id.is_none()));
        }
        let (candidates, rule) =
            if known { (exact, Rule::ExactId) } else { (whole_stems(by_name, reference), Rule::FileName) };
        match candidates.as_slice() {
            [] => Ok(Found::None),
            [one] => Ok(Found::One(one, rule)),
            many => Err(Ambiguous {
                reference: reference.chars().take(200).collect(),
                paths: many.iter().map(|listed| listed.path.clone()).collect(),
            }),
        }
    }

    /// How one reference stands.
    pub fn dependency(&self, reference: &str) -> Dependency {
        let state = match self.find(reference) {
            Ok(Found::One(listed, _)) if listed.outcome.task().is_err() => {
                DependencyState::Unreadable { path: listed.path.clone() }
            }
            Ok(Found::One(listed, rule)) if listed.folder == Folder::Done => {
                DependencyState::Done { path: listed.path.clone(), rule }
            }
            Ok(Found::One(listed, rule)) => {
                DependencyState::Open { path: listed.path.clone(), rule, folder: listed.folder }
            }
            Ok(Found::None) => DependencyState::Missing,
            Err(ambiguous) => DependencyState::Ambiguous { paths: ambiguous.paths },
        };
        Dependency { reference: reference.to_owned(), state }
    }

    /// The circles among the tasks' dependencies, each as indexes into [`Board::tasks`] in ascending order. Every task
    /// is in at most one; a task that only leads into a circle is in none.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let at: BTreeMap<&RepoPath, usize> =
            self.tasks.iter().enumerate().map(|(i, listed)| (&listed.path, i)).collect();
        let edges: Vec<Vec<usize>> = self
            .tasks
            .iter()
            .map(|listed| {
                let references = listed.outcome.task().map(|task| task.depends_on.as_slice()).unwrap_or_default();
                let target = |reference: &String| match self.find(reference) {
                    Ok(Found::One(found, _)) => at.get(&found.path).copied(),
                    _ => None,
                };
                references.iter().filter_map(target).collect()
            })
            .collect();
        components(&edges).into_iter().filter(|part| part.len() > 1 || edges[part[0]].contains(&part[0])).collect()
    }
}

fn answers(listed: &Listed, reference: &str) -> bool {
    let name = stem(&listed.path);
    let rest = name.strip_prefix(reference.as_bytes());
    !reference.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
}

/// `<reference>.md` itself wins over longer names, within a folder as across folders.
fn whole_stems<'a>(found: Vec<&'a Listed>, reference: &str) -> Vec<&'a Listed> {
    let whole: Vec<&Listed> =
        found.iter().copied().filter(|listed| stem(&listed.path) == reference.as_bytes()).collect();
    if whole.is_empty() { found } else { whole }
}

/// Strongly connected parts, by two depth-first passes (the second over reversed edges); no recursion, since a board
/// decides how deep a chain is.
fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut reversed = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            reversed[*to].push(from);
        }
    }
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::with_capacity(edges.len());
    for start in 0..edges.len() {
        visit(start, edges, &mut seen, &mut order);
    }
    seen.fill(false);
    let mut parts: Vec<Vec<usize>> = order
        .into_iter()
        .rev()
        .map(|start| {
            let mut part = Vec::new();
            visit(start, &reversed, &mut seen, &mut part);
            part.sort_unstable();
            part
        })
        .filter(|part| !part.is_empty())
        .collect();
    parts.sort();
    parts
}

/// Appends what is reachable from `start` and not yet seen, children before parents.
fn visit(start: usize, edges: &[Vec<usize>], seen: &mut [bool], out: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut stack = vec![(start, 0)];
    while let Some((node, next)) = stack.last_mut() {
        if let Some(target) = edges[*node].get(*next).copied() {
            *next += 1;
            if !std::mem::replace(&mut seen[target], true) {
                stack.push((target, 0));
            }
        } else {
            out.push(*node);
            stack.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::board::tests::{board, page};
    use proptest::prelude::*;

    fn rule_of(board: &Board, reference: &str) -> Option<Rule> {
        match board.find(reference).unwrap() {
            Found::One(_, rule) => Some(rule),
            Found::None => None,
        }
    }

    #[test]
    fn an_exact_id_comes_first_and_the_file_name_second() {
        let board = board(&[
            ("core/done/core-1-slug.md", page("core-1", "done", "")),
            ("design-system/done/design-system-001-styleguide.md", page("design-system-001", "done", "")),
            ("core/todo/core-10-other.md", page("core-10", "todo", "")),
        ]);
        assert_eq!(rule_of(&board, "core-1"), Some(Rule::ExactId));
        assert_eq!(rule_of(&board, "design-system-001-styleguide"), Some(Rule::FileName));
        assert_eq!(rule_of(&board, "design-system-001-style"), None);
        assert_eq!(rule_of(&board, ""), None);
        assert!(board.dependency("design-system-001-styleguide").state.is_satisfied());
        assert!(!board.dependency("core-10").state.is_satisfied());
        assert_eq!(board.dependency("core-2").state, DependencyState::Missing);
        let ambiguous = board.find("core").unwrap_err();
        assert_eq!(ambiguous.paths.len(), 2);
    }

    #[test]
    fn the_whole_name_wins_over_longer_names() {
        let board = board(&[
            ("core/done/a-b.md", page("core-1", "done", "")),
            ("core/done/a-b-c.md", page("core-2", "done", "")),
        ]);
        assert!(
            matches!(board.find("a-b").unwrap(), Found::One(listed, Rule::FileName) if listed.claimed_id.as_deref() == Some("core-1"))
        );
    }

    /// Case C064: an unreadable twin makes an id ambiguous.
    #[test]
    fn task_duplicate_state_a_broken_twin_is_a_candidate() {
        let board = board(&[
            ("core/todo/core-1-a.md", page("core-1", "todo", "")),
            ("core/doing/core-1-a.md", "---\nid: core".to_owned()),
        ]);
        assert_eq!(board.find("core-1").unwrap_err().paths.len(), 2);
    }

    /// A5 to A8: what counts as done, and what only looks like it.
    #[test]
    fn a_dependency_is_satisfied_only_by_a_readable_task_in_a_done_folder() {
        let board = board(&[
            ("design-system/done/core-1-slug.md", page("core-1", "done", "")),
            ("core/done/core-20.md", page("core-20", "done", "")),
            ("core/doing/core-3.md", page("core-3", "doing", "")),
            ("core/done/core-4-x.md", "broken".to_owned()),
        ]);
        let state = |reference| board.dependency(reference).state;
        assert!(state("core-1").is_satisfied());
        assert_eq!(state("core-2"), DependencyState::Missing);
        assert!(matches!(state("core-3"), DependencyState::Open { folder: Folder::Doing, .. }));
        assert!(matches!(state("core-4"), DependencyState::Unreadable { .. }));
    }

    #[test]
    fn circles_are_found_whole_and_what_leads_into_them_is_not() {
        let board = board(&[
            ("core/todo/core-1.md", page("core-1", "todo", "core-2")),
            ("core/todo/core-2.md", page("core-2", "todo", "core-3-slug")),
            ("core/todo/core-3-slug.md", page("core-3", "todo", "core-1")),
            ("core/todo/core-4.md", page("core-4", "todo", "core-1")),
            ("core/todo/core-5.md", page("core-5", "todo", "core-5")),
            ("core/todo/core-6.md", page("core-6", "todo", "core-7")),
            ("core/todo/core-7.md", page("core-7", "todo", "")),
        ]);
        assert_eq!(board.cycles(), [vec![0, 1, 2], vec![4]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let edges: Vec<Vec<usize>> = (0..200_000).map(|n| if n == 0 { vec![] } else { vec![n - 1] }).collect();
        assert_eq!(components(&edges).len(), edges.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn two_tasks_share_a_part_exactly_if_each_reaches_the_other(pairs in proptest::collection::vec((0usize..7, 0usize..7), 0..16)) {
            let mut edges = vec![Vec::new(); 7];
            for (from, to) in pairs {
                edges[from].push(to);
            }
            let reaches = |from: usize, to: usize| {
                let mut seen = vec![false; 7];
                let mut out = Vec::new();
                visit(from, &edges, &mut seen, &mut out);
                out.contains(&to)
            };
            let parts = components(&edges);
            prop_assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 7);
            for a in 0..7 {
                for b in 0..7 {
                    let together = parts.iter().any(|part| part.contains(&a) && part.contains(&b));
                    prop_assert_eq!(together, reaches(a, b) && reaches(b, a));
                }
            }
        }
    }
}
