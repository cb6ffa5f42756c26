//! The hand that drives one task: looks, asks what is next, does it, until there is nothing more to do.

use super::batch::Gate;
use super::budget::Spent;
use super::journal::{Entry, From, Journal};
use super::settings::{Terms, judgement};
use super::standing::{Life, Seen, Subject, look, note_heading};
use super::step::{Latest, Step, next};
use super::{End, TaskEnd, WorkError, WorkEvent};
use super::{landing, surroundings, teardown};
use crate::host::failpoint;
use crate::host::git::{RefMove, RefName, Repo};
use crate::host::ids::CommitId;
use crate::host::redact;
use crate::integrate::books::{self, Moved};
use crate::integrate::salvage::SALVAGE_FOLDER;
use crate::integrate::{Books, BooksError, Landed, Pages, SalvageError, SalvageTag, salvage, with_books, write_board};
use crate::pipeline::{
    CallsWord, Fault, Observer, Outcome, ReportWord, TaskWord, VerifyError, WorkWord, admit, verify,
};
use crate::receipts::{DecisionKind, Receipt, case};
use crate::task::layout::Folder;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// More steps than any life can have: a loop that goes round is our bug, not a night's work.
const MOST_STEPS: u32 = 200;

/// One task in one thread.
pub(super) struct Hand<'a> {
    pub(super) repo: Repo,
    pub(super) terms: &'a Terms,
    pub(super) subject: Subject,
    pub(super) journal: Journal,
    /// Whoever writes on the target has its turn.
    pub(super) gate: &'a Gate,
    pub(super) tell: &'a (dyn Fn(WorkEvent) + Sync),
    /// The proof of this process's own landing.
    pub(super) landed: Option<Landed>,
}

impl Hand<'_> {
    pub(super) fn id(&self) -> &str {
        self.subject.id.as_str()
    }

    pub(super) fn worktree(&self) -> PathBuf {
        self.terms.worktree(self.id())
    }

    /// The branch of the task's worktree.
    pub(super) fn branch(&self) -> Result<RefName, WorkError> {
        self.name(&format!("refs/heads/aw/{}", self.id()))
    }

    pub(super) fn name(&self, name: &str) -> Result<RefName, WorkError> {
        RefName::new(name).map_err(|name| self.inconsistent(format!("{name} is no reference")))
    }

    pub(super) fn inconsistent(&self, what: impl Into<String>) -> WorkError {
        WorkError::Inconsistent { task: self.id().to_owned(), what: what.into() }
    }

    /// Writes into the journal; a test may end the process on either side.
    pub(super) fn record(&mut self, entry: Entry) -> Result<(), WorkError> {
        failpoint::pass(self.repo.host());
        self.journal.write(entry)?;
        failpoint::pass(self.repo.host());
        Ok(())
    }

    /// An effect outside the journal; a test may end the process on either side.
    pub(super) fn effect<T>(&self, done: impl FnOnce() -> Result<T, WorkError>) -> Result<T, WorkError> {
        failpoint::pass(self.repo.host());
        let done = done()?;
        failpoint::pass(self.repo.host());
        Ok(done)
    }

    /// Drives the task as far as it goes. `resume`: what is held is tried again where that can help.
    pub(super) fn drive(&mut self, resume: bool) -> Result<TaskEnd, WorkError> {
        if resume {
            self.take_up()?;
        }
        for _ in 0..MOST_STEPS {
            if self.repo.host().cancel.is_asked() {
                return Err(WorkError::Interrupted);
            }
            let seen = look(&self.repo, self.terms, &self.subject, &self.journal)?;
            let step = next(&seen.standing);
            if step == Step::Stop {
                return Ok(self.end(&seen));
            }
            let step = self.within_budget(&seen, step);
            (self.tell)(WorkEvent::Step { task: self.id().to_owned(), step: step.clone() });
            let last = step == Step::Teardown;
            match self.act(&seen, step) {
                // What Ctrl-C ended says so in many ways; none of them is the task's.
                Err(_) if self.repo.host().cancel.is_asked() => return Err(WorkError::Interrupted),
                // The task is at its end all the same; only its worktree is still there, and the next run tries again.
                Err(why) if last && !matches!(why, WorkError::Interrupted) => {
                    let mut end = self.end(&look(&self.repo, self.terms, &self.subject, &self.journal)?);
                    end.kept = Some(why.to_string());
                    return Ok(end);
                }
                acted => acted?,
            }
        }
        Err(self.inconsistent("its steps go round in a circle; please report it, and see `countersign status`"))
    }

    /// The step, or a hold where it would cost something and the budget is spent.
    fn within_budget(&self, seen: &Seen, step: Step) -> Step {
        let Some(life) = seen.life.as_ref().filter(|_| matches!(step, Step::Send { .. } | Step::Judge)) else {
            return step;
        };
        match self.over_budget(life) {
            Some((code, why)) => Step::Hold { code: code.to_owned(), why },
            None => step,
        }
    }

    fn act(&mut self, seen: &Seen, step: Step) -> Result<(), WorkError> {
        let life = seen.life.as_ref().ok_or_else(|| self.inconsistent("no commit took it from `todo`"))?;
        match step {
            Step::MakeWorktree => surroundings::make_worktree(self, &life.start),
            Step::Send { iteration, errand } => self.send(seen, life, iteration, errand),
            Step::Collect => self.collect(seen.standing.progress.iteration, b"", ("exited", "its end was not seen")),
            Step::Judge => self.judge(seen, life),
            Step::Note { iteration } => self.note(seen, iteration),
            Step::Merge => landing::merge(self, seen),
            Step::Land => landing::land_task(self, seen, life),
            Step::Bounce { why } => self.bounce(life, &why),
            Step::Hold { code, why } => self.hold(seen, life, &code, &why),
            Step::Teardown => teardown::teardown(self, seen, life),
            Step::Stop => Ok(()),
        }
    }

    /// Takes a held task up where a machine or a person may have removed the reason. An escalated one is not: a person
    /// changes the task and moves it to `todo`, which begins another life.
    fn take_up(&mut self) -> Result<(), WorkError> {
        let seen = look(&self.repo, self.terms, &self.subject, &self.journal)?;
        let Latest::Held { code, .. } = &seen.standing.progress.latest else { return Ok(()) };
        let from = match code.as_str() {
            "worker-not-run" | "worker-failed" | "lost-result" => From::Sending,
            "held" | "not-judged" => From::Judging { sealed: seen.standing.sealed },
            "landing-waits" | "budget-spent" | "budget-unknown" => From::Landing,
            _ => return Ok(()),
        };
        self.record(Entry::Resumed { from })
    }

    fn judge(&mut self, seen: &Seen, life: &Life) -> Result<(), WorkError> {
        if let Some(tip) = &seen.standing.progress.merged_from {
            let undone = landing::undone(self, life, tip)?;
            if !undone.is_empty() {
                let why = format!("it undoes what landed after its base: {}; a person decides", undone.join(", "));
                return self.hold(seen, life, "merge-conflict", &why);
            }
        }
        self.record(Entry::Judging { sealed: seen.standing.sealed })?;
        let sidecar = self.sidecar(seen.standing.progress.iteration)?;
        let mut question = judgement(&self.terms.top, self.terms.verifier.clone());
        question.work = WorkWord::Worktree(self.worktree());
        question.base = Some(base_of(seen, life).to_string());
        question.task = task_word(self, seen, life);
        question.calls = CallsWord::OfTask;
        question.report = if sidecar.is_file() { ReportWord::File(sidecar) } else { ReportWord::None };
        self.ask(&question)
    }

    /// Asks the gate. That it cannot judge is nobody's fault: the task waits, and no attempt is used up.
    pub(super) fn ask(&mut self, question: &crate::pipeline::VerifyRequest) -> Result<(), WorkError> {
        failpoint::pass(self.repo.host());
        let mut watch = Phases { task: self.id().to_owned(), tell: self.tell };
        let host = self.repo.host();
        let watch_time = host.clock.stopwatch();
        let answer = if self.terms.no_verify {
            admit(question, host, &mut watch, "the user (--no-verify)")
        } else {
            verify(question, host, &mut watch)
        };
        failpoint::pass(self.repo.host());
        match answer {
            Ok(outcome) => self.spend_judgement(&outcome, watch_time.elapsed().as_secs()),
            Err(_) if self.repo.host().cancel.is_asked() => Err(WorkError::Interrupted),
            Err(VerifyError::Interrupted) => Err(WorkError::Interrupted),
            Err(why) if why.fault() == Fault::Bug => Err(why.into()),
            Err(why) => self.held("not-judged", &why.to_string()),
        }
    }

    /// What a judgement cost; nothing where no budget asks.
    fn cost(&self, outcome: &Outcome, seconds: u64) -> Result<Option<Spent>, WorkError> {
        let case = outcome.case.as_deref().and_then(|case| CommitId::new(case).ok());
        let Some(case) = case.filter(|_| !self.terms.settings.budget.is_unlimited()) else { return Ok(None) };
        let sealed = case::read(&self.repo, &case)?;
        Ok(Some(Spent::of_judgement(&sealed.attempt.receipts, seconds)))
    }

    /// What a judgement of several cost is no single task's: the run's tally has it.
    pub(super) fn spend_together(&self, outcome: &Outcome, seconds: u64) -> Result<(), WorkError> {
        if let Some(spent) = self.cost(outcome, seconds)? {
            self.terms.spent.lock().unwrap_or_else(PoisonError::into_inner).add(&spent);
        }
        Ok(())
    }

    fn spend_judgement(&mut self, outcome: &Outcome, seconds: u64) -> Result<(), WorkError> {
        self.cost(outcome, seconds)?.map_or(Ok(()), |spent| self.spend(spent))
    }

    pub(super) fn held(&mut self, code: &str, why: &str) -> Result<(), WorkError> {
        let (code, why, at) = (code.to_owned(), redact::redact_text(why), self.repo.host().clock.now());
        self.record(Entry::Held { code, why, at })
    }

    fn note(&mut self, seen: &Seen, iteration: u32) -> Result<(), WorkError> {
        let reasons = seen.standing.decision.iter().flat_map(|decision| &decision.reasons);
        let text: String = reasons.map(|reason| format!("- {}\n", told(reason))).collect();
        let heading = note_heading(seen.standing.ruled, iteration);
        let message =
            format!("chore({}): verifier note, iteration {iteration} [{}]\n", self.subject.context, self.id());
        self.board(&message, &|pages, task| books::note(pages, task, &heading, &redact::redact_text(&text)))
    }

    fn bounce(&mut self, life: &Life, why: &str) -> Result<(), WorkError> {
        let saved = self.save(life, SalvageTag::Bounced)?;
        let why = format!("{why}\n\nThe work is saved: {saved}");
        let message = format!("chore({}): task bounced [{}]\n", self.subject.context, self.id());
        self.board(&message, &|pages, task| books::bounce(pages, task, &why))
    }

    /// One commit on the target that changes the board alone.
    pub(super) fn board(
        &self,
        message: &str,
        edit: &dyn Fn(&Pages, &Moved<'_>) -> Result<Books, BooksError>,
    ) -> Result<(), WorkError> {
        let (repo, layout) = (&self.repo, self.terms.layout);
        let task = Moved { layout, context: &self.subject.context, id: self.id() };
        let _turn = self.gate.turn();
        self.effect(|| {
            write_board(repo, &self.terms.target, repo.host().clock.now(), message, &|tree| {
                let pages = Pages::load(repo, tree, layout, task.id)?;
                let books = edit(&pages, &task)?;
                Ok(with_books(repo, tree, &pages, books)?)
            })?;
            Ok(())
        })
    }

    fn hold(&mut self, seen: &Seen, life: &Life, code: &str, why: &str) -> Result<(), WorkError> {
        let iteration = seen.standing.progress.iteration.max(1);
        let of_life = |entry: &Entry| matches!(entry, Entry::Sent { life: of, .. } | Entry::Began { life: of } if *of == life.start);
        if !self.journal.entries().iter().any(of_life) {
            self.record(Entry::Began { life: life.start.clone() })?;
        }
        let tag = match code {
            "escalated" | "task-under-specified" | "metric-drift" => Some(SalvageTag::Escalated(iteration)),
            "lost-result" => Some(SalvageTag::LostResult),
            "merge-conflict" => Some(SalvageTag::MergeConflict),
            "worker-failed" => Some(SalvageTag::Failed),
            "budget-spent" | "budget-unknown" => Some(SalvageTag::BudgetSpent),
            // The claim's reference keeps the work; it is judged or landed again when the reason is gone.
            _ => None,
        };
        if let Some(tag) = tag {
            let saved = self.save(life, tag)?;
            let message = format!("chore({}): salvage note [{}]\n", self.subject.context, self.id());
            // The page goes to other machines: it names places inside the project only.
            let why = why.replace(&format!("{}/", self.terms.top.display()), "");
            let text = format!("{code}: {}\n\nThe work is saved: {saved}", redact::redact_text(&why));
            let heading =
                if code == "escalated" { "Salvage note".to_owned() } else { format!("Salvage note ({code})") };
            self.board(&message, &|pages, task| books::note(pages, task, &heading, &text))?;
        }
        self.held(code, why)
    }

    /// Saves the work, which stays in its worktree, too; where, in words.
    pub(super) fn save(&mut self, life: &Life, tag: SalvageTag) -> Result<String, WorkError> {
        let inside = self.repo.discover_beside(&self.worktree())?;
        failpoint::pass(self.repo.host());
        let saved = match salvage(&inside, &self.terms.top, &self.subject.id, tag, &life.start) {
            // The only copy of that history is in the worktree, and nobody is about to remove it.
            Err(why @ SalvageError::Inside { .. }) => return Ok(format!("in its worktree only: {why}")),
            saved => saved?,
        };
        failpoint::pass(self.repo.host());
        let record = saved.record();
        let words = match &record.patch {
            // A page goes to other machines: it says where the patch is in the project.
            Some(patch) => {
                let name = patch.file_name().unwrap_or_default().to_string_lossy();
                format!("{} and {SALVAGE_FOLDER}/{name}", record.reference)
            }
            None => record.reference.clone(),
        };
        let entry =
            Entry::Saved { tag: record.tag.clone(), reference: record.reference.clone(), patch: record.patch.clone() };
        self.record(entry)?;
        Ok(words)
    }

    /// How the task stands.
    fn end(&self, seen: &Seen) -> TaskEnd {
        let end = match (seen.standing.folder, &seen.standing.progress.latest) {
            (_, Latest::Held { code, why }) => End::Held { code: code.clone(), why: why.clone() },
            (Some(Folder::Done), Latest::Landed(commit)) => End::Landed { commit: commit.to_string() },
            (Some(Folder::Backlog), _) => End::Bounced,
            (Some(Folder::Done), _) => {
                End::Stopped { why: "it is in `done`, and this journal saw no landing".to_owned() }
            }
            (Some(folder), _) => End::Stopped { why: format!("it is in `{}`", folder.as_str()) },
            (None, _) => End::Stopped { why: "its page is gone from the target".to_owned() },
        };
        let worktree = seen.standing.worktree.then(|| self.worktree());
        TaskEnd { task: self.id().to_owned(), end, worktree, kept: None, saved: saved(self.journal.entries()) }
    }
}

/// Everything a journal says was saved.
pub(super) fn saved(entries: &[Entry]) -> Vec<String> {
    let mut places = Vec::new();
    for entry in entries {
        if let Entry::Saved { reference, patch, .. } = entry {
            let place = patch.as_ref().map_or_else(|| reference.clone(), |patch| patch.display().to_string());
            // A run that died between a salvage and its end saves the same event once more, at the same place.
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// What this life's work is measured against: the commit that took the task, or the one of the target merged since.
pub(super) fn base_of<'s>(seen: &'s Seen, life: &'s Life) -> &'s CommitId {
    seen.standing.progress.merged_from.as_ref().unwrap_or(&life.start)
}

/// The task as the gate is to read it: by id at the base, or, where the base is a later commit that has notes of ours in
/// the page, by the text that the life began with. Verifiers never see earlier verdicts.
pub(super) fn task_word(hand: &Hand<'_>, seen: &Seen, life: &Life) -> TaskWord {
    if *base_of(seen, life) == life.start {
        TaskWord::Named(hand.id().to_owned())
    } else {
        TaskWord::Text(life.task.text.clone().into_bytes())
    }
}

pub(super) fn told(reason: &crate::receipts::Reason) -> String {
    format!("{}: {}", reason.code, reason.text)
}

/// True if an attempt may land.
pub(super) fn may_land(kind: DecisionKind) -> bool {
    matches!(kind, DecisionKind::Land | DecisionKind::Skip)
}

pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> WorkError + use<> {
    let path = path.to_owned();
    move |why| WorkError::Io { doing, path, why }
}

/// Tells the gate's phases.
pub(super) struct Phases<'a> {
    pub(super) task: String,
    pub(super) tell: &'a (dyn Fn(WorkEvent) + Sync),
}

impl Observer for Phases<'_> {
    fn began(&mut self, what: &str) {
        (self.tell)(WorkEvent::Phase { task: self.task.clone(), what: what.to_owned() });
    }

    fn recorded(&mut self, _receipt: &Receipt) {}
}

/// Moves a reference that only this task's hand moves.
pub(super) fn move_own(repo: &Repo, name: &RefName, new: &CommitId, old: Option<&CommitId>) -> Result<(), WorkError> {
    match repo.move_ref(name, new, old)? {
        RefMove::Moved => Ok(()),
        RefMove::Raced => Err(WorkError::Inconsistent {
            task: name.to_string(),
            what: "somebody else moved it meanwhile; run the command again".to_owned(),
        }),
    }
}
