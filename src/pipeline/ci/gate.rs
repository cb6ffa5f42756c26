//! The run of the gate: what is judged, on which evidence, and what follows.

use super::attested::{Covered, Reach};
use super::believe::Trust;
use super::deciding::{self, Scope};
use super::evidence::{Chain, Search};
use super::guarded;
use super::health::try_gate;
use super::own::{self, Question, bare, held, reason};
use super::range::Range;
use super::released::released;
use super::report::{CiDecision, CiReport, EvidenceKind, GateFinding, Health, HealthCheck, TaskReport};
use super::wanted::{self, Wanted};
use super::{CiError, CiRequest};
use crate::config::Requirement;
use crate::config::glob::Glob;
use crate::host::Host;
use crate::host::git::Change;
use crate::host::ids::CommitId;
use crate::integrate::likeness::foreign_paths;
use crate::pipeline::{Fault, Observer, Outcome, TaskWord, VerifyError};
use crate::receipts::{Reason, State};

/// True if a file was written, changed or removed, and nothing else: a link, a submodule's pointer and a new right to be
/// executed reach beyond the folder that they lie in.
fn is_plain(change: &Change) -> bool {
    match change.new_mode.as_str() {
        "100644" | "000000" => true,
        "100755" => change.old_mode == "100755",
        _ => false,
    }
}

/// Judges a range.
///
/// # Errors
/// See [`CiError`]: there is no answer then, and no exit code 0.
pub fn run(request: &CiRequest, host: &Host, watch: &mut dyn Observer) -> Result<CiReport, CiError> {
    judge_range(&settle(request, host)?, request, host, watch)
}

/// The range as it is now. Whatever a run says, judges and signs is about this one, wherever branches move meanwhile.
pub(super) fn settle(request: &CiRequest, host: &Host) -> Result<Range, CiError> {
    Range::settle(host, &request.start, request.base.as_deref(), request.head.as_deref())
}

/// Judges a range that was settled.
pub(super) fn judge_range(
    range: &Range,
    request: &CiRequest,
    host: &Host,
    watch: &mut dyn Observer,
) -> Result<CiReport, CiError> {
    watch.began("trying the gate on two built-in claims");
    let health = try_gate(host);
    let trust = Trust::at(&range.repo, &range.base_tree, &range.settings)?;
    let require = request.require.or(range.settings.gate.require).unwrap_or_default();
    let mut gate = Gate { request, host, range, trust: &trust, require, broken: None, own: false, chain: None };
    let (tasks, findings) =
        if health.works && range.conflicts.is_empty() { gate.judge(watch)? } else { (Vec::new(), Vec::new()) };
    let health = gate.health(health);
    let (decision, reasons) = gate.decide(&health, &tasks, &findings)?;
    let mut findings = findings;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.state));
    Ok(CiReport {
        schema: CiReport::SCHEMA.to_owned(),
        base: range.base.commit.clone(),
        base_rule: range.base.rule.clone(),
        head: range.head.clone(),
        tree: range.conflicts.is_empty().then(|| range.tree.clone()),
        merged: range.base_moved(),
        commits: range.members.len(),
        changed: range.changed.len(),
        require,
        policy: trust
            .policy(request.verifier.as_deref().or(range.settings.verifier.as_deref()).unwrap_or("mechanical")),
        health,
        tasks,
        findings,
        decision,
        reasons,
        exit: decision.exit(),
    })
}

struct Gate<'r> {
    request: &'r CiRequest,
    host: &'r Host,
    range: &'r Range,
    trust: &'r Trust<'r>,
    require: Requirement,
    /// Why the gate turned out to be broken while it judged.
    broken: Option<String>,
    /// True if everything that was judged was judged here, and passed.
    own: bool,
    chain: Option<Chain>,
}

impl Gate<'_> {
    fn judge(&mut self, watch: &mut dyn Observer) -> Result<(Vec<TaskReport>, Vec<GateFinding>), CiError> {
        let mut search = Search::open(self.range, self.trust)?;
        let pages = wanted::changed_pages(self.range)?;
        let head_chain = match self.require {
            Requirement::Verified => None,
            Requirement::Attested | Requirement::Either => Some(search.of_head()?),
        };
        let mut noted = search.noted()?;
        noted.extend(head_chain.iter().flat_map(|chain| &chain.links).map(|link| link.landing.task.clone()));
        let wanted = wanted::wanted(self.range, &pages, &noted)?;
        let mut findings = guarded::look(self.range, &pages, &wanted)?;
        // A task is more than its paths: whoever names one says that it is done, wherever the change lies.
        if self.range.changed.is_empty() || (wanted.is_empty() && self.is_free()) {
            return Ok((Vec::new(), findings));
        }
        watch.began("looking for evidence that travelled with the change");
        let reach = self.reach(&mut search, head_chain, &wanted)?;
        let commit = self.range.to_judge()?;
        let floor = match (reach, &commit) {
            (Reach::Remerged, Some(commit)) => Some(self.ask(commit, TaskWord::None, watch)?),
            _ => None,
        };
        let mut tasks = Vec::new();
        for one in &wanted {
            let covered = self.chain.as_ref().map(|chain| Covered {
                gate: &self.range.settings.gate,
                require: self.require,
                chain,
                reach,
                floor: floor.as_ref(),
            });
            tasks.push(match covered.and_then(|covered| covered.report(one)) {
                Some(report) => report,
                None => self.own(one, commit.as_ref(), &search, watch)?,
            });
        }
        if wanted.is_empty() {
            let change = Wanted {
                id: "change".to_owned(),
                title: String::new(),
                because: "no task in the range".to_owned(),
                word: Some(TaskWord::None),
                criteria: Vec::new(),
                own: None,
            };
            tasks.push(self.own(&change, commit.as_ref(), &search, watch)?);
        }
        self.own = tasks.iter().all(|task| task.passes && task.evidence == EvidenceKind::Verified);
        findings.extend(self.open_ranges(&search)?);
        findings.extend(search.rejected.iter().map(|rejected| {
            let said = format!("a note does not count ({}): {}", rejected.code, rejected.why);
            bare("note-rejected", State::Info, rejected.commit.as_str(), &said)
        }));
        Ok((tasks, findings))
    }

    /// True if the settings at the base need no evidence for any of the changed paths.
    fn is_free(&self) -> bool {
        let free: Vec<Glob> = self.range.settings.gate.free.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
        let paths: Vec<_> = self.range.changed.iter().flat_map(Change::paths).collect();
        if paths.is_empty() {
            return self.range.settings.gate.free.iter().any(|glob| glob == "**");
        }
        let plain = self.range.changed.iter().all(is_plain);
        plain && paths.iter().all(|path| free.iter().any(|glob| glob.matches(path)))
    }

    fn reach(&mut self, search: &mut Search<'_>, of_head: Option<Chain>, wanted: &[Wanted]) -> Result<Reach, CiError> {
        let Some(mut chain) = of_head else { return Ok(Reach::Short) };
        let range = self.range;
        let mut reach = Reach::Short;
        if chain.complete {
            let fork_tree = range.repo.tree_of(&range.fork)?;
            let moved = foreign_paths(&range.repo, &fork_tree, &range.base_tree)?;
            reach = if moved.is_empty() {
                Reach::Judged
            } else if moved.is_disjoint(&foreign_paths(&range.repo, &fork_tree, &range.head_tree)?) {
                Reach::Remerged
            } else {
                "the base moved in paths that the change touches, too".clone_into(&mut chain.gap);
                Reach::Short
            };
        } else {
            let ids: Vec<String> = wanted.iter().map(|wanted| wanted.id.clone()).collect();
            if let Some(found) = search.remerged(&ids)? {
                chain = found;
                reach = Reach::Remerged;
            }
        }
        self.chain = Some(chain);
        Ok(reach)
    }

    fn own(
        &mut self,
        wanted: &Wanted,
        commit: Option<&CommitId>,
        search: &Search<'_>,
        watch: &mut dyn Observer,
    ) -> Result<TaskReport, CiError> {
        let gate = &self.range.settings.gate;
        if let Some(why) = wanted.own.as_ref().filter(|_| !gate.author_criteria) {
            let text = format!("{why}; who does the work does not say what counts as done");
            return Ok(held(wanted, "author-criteria", text));
        }
        let Some(word) = &wanted.word else {
            let text = format!("the base {} has no such task to judge by", self.range.base.commit.short());
            return Ok(held(wanted, "unknown-task", text));
        };
        if self.require == Requirement::Attested {
            return Ok(held(wanted, "not-attested", self.missing(wanted, search)));
        }
        let Some(commit) = commit else {
            return Ok(held(wanted, "nothing-to-judge", "the range changes nothing but the board"));
        };
        match self.ask(commit, word.clone(), watch)? {
            Ok(outcome) => Ok(own::report(gate, wanted, &outcome)),
            Err(why) => Ok(held(wanted, "not-judged", why.to_string())),
        }
    }

    /// Asks for a judgement. What is wrong with the machine or the settings is the answer; what is ours is an error.
    fn ask(
        &mut self,
        commit: &CommitId,
        word: TaskWord,
        watch: &mut dyn Observer,
    ) -> Result<Result<Outcome, VerifyError>, CiError> {
        let question = Question {
            host: self.host,
            start: self.range.repo.top(),
            base: &self.range.base.commit,
            commit,
            verifier: self.request.verifier.as_deref(),
        };
        match question.ask(word, watch) {
            Err(why) if matches!(why.fault(), Fault::Bug | Fault::Interrupted) => Err(why.into()),
            Err(why) => {
                if matches!(why, VerifyError::NoSandbox { .. }) {
                    self.broken.get_or_insert_with(|| why.to_string());
                }
                Ok(Err(why))
            }
            judged => Ok(judged),
        }
    }

    /// Why nothing that travelled counts, and what to do.
    fn missing(&self, wanted: &Wanted, search: &Search<'_>) -> String {
        let chain = self.chain.as_ref();
        let link = chain.and_then(|chain| chain.links.iter().find(|link| link.landing.task == wanted.id));
        if chain.is_some_and(|chain| chain.complete && chain.gap.is_empty()) {
            return match link {
                Some(_) => "the note judged it by other criteria than the base has".to_owned(),
                None => "the range's landings are of other tasks".to_owned(),
            };
        }
        let gap = chain.map_or("", |chain| chain.gap.as_str());
        let told: Vec<String> =
            search.rejected.iter().take(5).map(|one| format!("{}: {}", one.code, one.why)).collect();
        if chain.is_some_and(|chain| chain.complete) {
            format!("{gap}: it has to be judged again, which `--require attested` does not allow")
        } else if told.is_empty() {
            format!("{gap}: whoever landed it runs `countersign push`, and this clone `countersign fetch`")
        } else {
            format!("{gap} ({})", told.join("; "))
        }
    }

    /// Ranges on the branch that nobody certified, as far as this run does not certify them.
    fn open_ranges(&self, search: &Search<'_>) -> Result<Vec<GateFinding>, CiError> {
        let mut open = search.open_at_base()?;
        for link in self.chain.iter().flat_map(|chain| &chain.links) {
            for range in &link.landing.uncertified {
                if !open.contains(range) {
                    open.push(range.clone());
                }
            }
        }
        let mut findings = Vec::new();
        for range in open {
            if self.own && self.range.repo.is_ancestor(&self.range.base.commit, &range.from).unwrap_or(false) {
                continue;
            }
            if search.is_certified(&range)? {
                continue;
            }
            let (from, to) = (range.from.short(), range.to.short());
            let said = format!(
                "{from}..{to} ({}, {}) was never certified: judge a range that starts at or before it, e.g. countersign ci --base {from} --require verified --attest, and push its note (countersign push)",
                range.task, range.why
            );
            findings.push(bare("uncertified", State::Ask, range.to.as_str(), &said));
        }
        Ok(findings)
    }

    fn health(&mut self, mut health: Health) -> Health {
        if let Some(why) = self.broken.take() {
            health.works = false;
            health.checks.push(HealthCheck { name: "box".to_owned(), works: false, text: why });
        }
        health
    }

    fn decide(
        &self,
        health: &Health,
        tasks: &[TaskReport],
        findings: &[GateFinding],
    ) -> Result<(CiDecision, Vec<Reason>), CiError> {
        if !health.works {
            let broken = health.checks.iter().filter(|check| !check.works);
            let reasons = broken.map(|check| reason("gate-broken", format!("{}: {}", check.name, check.text)));
            return Ok((CiDecision::Broken, reasons.collect()));
        }
        let (decision, reasons) = deciding::decide(
            Scope {
                conflicts: &self.range.conflicts,
                ends: &format!("{}..{}", self.range.base.commit.short(), self.range.head.short()),
                commits: self.range.members.len(),
                free: self.is_free(),
            },
            tasks,
            findings,
        );
        if decision == CiDecision::Held
            && let Some(approval) = released(self.range, self.trust, &reasons)?
        {
            return Ok((CiDecision::Pass, vec![approval]));
        }
        Ok((decision, reasons))
    }
}
