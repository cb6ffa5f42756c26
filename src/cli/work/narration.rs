//! What is told while a run goes on: one line a task, on stderr.
//!
//! At a terminal the lines of running tasks stand at the bottom and are drawn again; elsewhere every change is a line of
//! its own, so that a log reads from top to bottom.

use crate::cli::console::visible;
use crate::host::clock::{Clock, Stopwatch};
use crate::pipeline::work::WorkEvent;
use crate::pipeline::work::journal::Errand;
use crate::pipeline::work::step::Step;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the lines at a terminal are drawn anew.
const TICK: Duration = Duration::from_secs(1);

/// A running task.
struct Line {
    task: String,
    phase: &'static str,
    attempt: u32,
    last: String,
    began: Stopwatch,
    phase_began: Stopwatch,
}

/// All lines.
struct Lines {
    running: Vec<Line>,
    drawn: usize,
    clock: Clock,
}

/// Tells a run.
pub(super) struct Narration {
    lines: Mutex<Lines>,
    live: bool,
}

impl Narration {
    /// Tells what happens while `run` runs.
    pub(super) fn during<T>(clock: Clock, run: impl FnOnce(&Self) -> T) -> T {
        let lines = Mutex::new(Lines { running: Vec::new(), drawn: 0, clock });
        let narration = Self { lines, live: std::io::stderr().is_terminal() };
        if !narration.live {
            return run(&narration);
        }
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let ticker = scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    std::thread::park_timeout(TICK);
                    narration.lines().draw();
                }
            });
            let answer = run(&narration);
            over.store(true, Ordering::SeqCst);
            ticker.thread().unpark();
            answer
        })
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event in and tells it.
    pub(super) fn hear(&self, event: &WorkEvent) {
        let mut lines = self.lines();
        let Some(line) = lines.take(event) else { return };
        if self.live {
            let ended = matches!(event, WorkEvent::Ended(_));
            lines.redraw(ended.then_some(line.as_str()));
        } else {
            // Nobody who reads this may stop the run by going away.
            _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

impl Lines {
    /// The line that this event makes; none if it changes nothing that is told.
    fn take(&mut self, event: &WorkEvent) -> Option<String> {
        match event {
            WorkEvent::Taken { tasks } => {
                let task = tasks.first()?;
                let line = self.of(task);
                (line.phase, line.last) = ("taken", "moved to `doing`".to_owned());
                Some(line.told())
            }
            WorkEvent::Step { task, step } => {
                let stopwatch = self.clock.stopwatch();
                let line = self.of(task);
                let (phase, last) = told(step);
                if let Step::Send { iteration, .. } = step {
                    line.attempt = *iteration;
                }
                (line.phase, line.last, line.phase_began) = (phase, last, stopwatch);
                Some(line.told())
            }
            WorkEvent::Phase { task, what } => {
                let line = self.of(task);
                line.last.clone_from(what);
                Some(line.told())
            }
            WorkEvent::Ended(end) => {
                let at = self.running.iter().position(|line| line.task == end.task);
                let line = at.map(|at| self.running.remove(at));
                let elapsed = line.map(|line| span(line.began.elapsed().as_secs())).unwrap_or_default();
                Some(visible(&format!("{:<20} {:<10} {elapsed:>7}  {}", end.task, "ended", super::ended(&end.end))))
            }
            WorkEvent::Report(_) => None,
        }
    }

    fn of(&mut self, task: &str) -> &mut Line {
        let at = self.running.iter().position(|line| line.task == task).unwrap_or_else(|| {
            let began = self.clock.stopwatch();
            self.running.push(Line {
                task: task.to_owned(),
                phase: "",
                attempt: 0,
                last: String::new(),
                began,
                phase_began: began,
            });
            self.running.len() - 1
        });
        &mut self.running[at]
    }

    /// Draws the running tasks over what was drawn before.
    fn draw(&mut self) {
        self.redraw(None);
    }

    fn redraw(&mut self, above: Option<&str>) {
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let mut text = String::new();
        if self.drawn > 0 {
            _ = write!(text, "\x1b[{}A\x1b[J", self.drawn);
        }
        if let Some(line) = above {
            _ = writeln!(text, "{line}");
        }
        for line in &self.running {
            _ = writeln!(text, "{}", cut(&line.told(), width.saturating_sub(1)));
        }
        self.drawn = self.running.len();
        _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl Line {
    fn told(&self) -> String {
        let attempt = if self.attempt == 0 { String::new() } else { format!("attempt {}", self.attempt) };
        let (all, phase) = (self.began.elapsed().as_secs(), self.phase_began.elapsed().as_secs());
        let here = if phase + 1 < all { format!(" (here {})", span(phase)) } else { String::new() };
        let last = self.last.replace('\n', " ");
        visible(&format!("{:<20} {:<10} {attempt:<9} {:>7}  {last}{here}", self.task, self.phase, span(all)))
    }
}

/// A step as a phase and in words.
fn told(step: &Step) -> (&'static str, String) {
    match step {
        Step::MakeWorktree => ("preparing", "its worktree is made".to_owned()),
        Step::Send { errand, .. } => {
            let what = match errand {
                Errand::Do => "a worker is at work",
                Errand::Mend => "the worker mends what the notes name",
                Errand::Repeat => "the worker is asked for its report again",
                Errand::Resolve => "the worker resolves the merge",
            };
            ("working", what.to_owned())
        }
        Step::Collect => ("working", "the report of a worker whose end nobody saw is taken in".to_owned()),
        Step::Judge => ("judging", "the work is frozen".to_owned()),
        Step::Note { iteration } => ("sent back", format!("the reasons of attempt {iteration} go into the task")),
        Step::Merge => ("merging", "the target has other changes in the same places".to_owned()),
        Step::Land => ("landing", "its warrant is spent on the branch".to_owned()),
        Step::Bounce { why } => ("bounced", format!("the worker gives it back: {why}")),
        Step::Hold { code, why } => ("held", format!("{code}: {why}")),
        Step::Teardown => ("clearing", "its worktree is taken away".to_owned()),
        Step::Stop => ("ended", String::new()),
    }
}

/// At most this many characters, with a mark where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Seconds in words: `7s`, `3m 05s`, `2h 10m`.
pub(super) fn span(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s:02}s"),
        (h, m, _) => format!("{h}h {m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::work::{End, TaskEnd};

    fn lines() -> Lines {
        Lines { running: Vec::new(), drawn: 0, clock: Clock::Fixed(0) }
    }

    #[test]
    fn a_task_keeps_one_line_with_phase_attempt_elapsed_and_last_activity() {
        let mut lines = lines();
        let step = Step::Send { iteration: 2, errand: Errand::Mend };
        let line = lines.take(&WorkEvent::Step { task: "w-1".to_owned(), step }).unwrap();
        assert_eq!(line, "w-1                  working    attempt 2      0s  the worker mends what the notes name");
        lines.take(&WorkEvent::Step { task: "w-1".to_owned(), step: Step::Judge });
        let line = lines.take(&WorkEvent::Phase { task: "w-1".to_owned(), what: "the tests run".to_owned() }).unwrap();
        assert_eq!(line, "w-1                  judging    attempt 2      0s  the tests run");
        assert_eq!(lines.running.len(), 1);
    }

    #[test]
    fn an_ended_task_has_no_line_any_more_and_nothing_it_said_reaches_the_terminal_raw() {
        let mut lines = lines();
        lines.take(&WorkEvent::Taken { tasks: vec!["w-1".to_owned()] });
        let end = End::Stopped { why: "red \x1b[31malarm".to_owned() };
        let end = TaskEnd { task: "w-1".to_owned(), end, worktree: None, saved: Vec::new(), kept: None };
        let line = lines.take(&WorkEvent::Ended(end)).unwrap();
        assert!(lines.running.is_empty() && !line.contains('\x1b') && line.contains("alarm"), "{line}");
    }

    #[test]
    fn spans_are_told_in_two_units_and_long_lines_are_cut() {
        for (seconds, told) in [(0, "0s"), (59, "59s"), (65, "1m 05s"), (7_200, "2h 00m"), (90_061, "25h 01m")] {
            assert_eq!(span(seconds), told);
        }
        assert_eq!((cut("abcdef", 4).as_str(), cut("abc", 4).as_str(), cut("abc", 0).as_str()), ("abc…", "abc", "…"));
    }
}
