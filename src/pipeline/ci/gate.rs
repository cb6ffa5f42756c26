//! The run of the gate: what is judged, on which evidence, and what follows.

use super::believe::{Believed, Trust};
use super::evidence::{Chain, Search};
use super::guarded;
use super::health::try_gate;
use super::own::{self, Question, bare, held, reason};
use super::range::Range;
use super::released::released;
use super::report::{Attested, CiDecision, CiReport, EvidenceKind, GateFinding, Health, TaskReport};
use super::wanted::{self, Wanted, same};
use super::{CiError, CiRequest};
use crate::config::Requirement;
use crate::config::glob::Glob;
use crate::host::Host;
use crate::host::ids::CommitId;
use crate::integrate::likeness::foreign_paths;
use crate::pipeline::{Fault, Observer, TaskWord, VerifyError};
use crate::receipts::{DecisionKind, Reason, State};
use crate::verdict::WarrantOrigin;

/// Judges a range.
///
/// # Errors
/// See [`CiError`]: there is no answer then, and no exit code 0.
pub fn run(request: &CiRequest, host: &Host, watch: &mut dyn Observer) -> Result<CiReport, CiError> {
    let range = Range::settle(host, &request.start, request.base.as_deref(), request.head.as_deref())?;
    watch.began("trying the gate on two built-in claims");
    let health = try_gate(host);
    let trust = Trust::at(&range.repo, &range.base_tree, &range.settings)?;
    let require = request.require.or(range.settings.gate.require).unwrap_or_default();
    let mut gate = Gate { request, host, range: &range, trust: &trust, require, broken: None, own: false, chain: None };
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

/// How far the landings that were found reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// To exactly what is judged.
    Judged,
    /// To what is judged once they are merged again; floor and tests have to run on it.
    Remerged,
    /// Not far enough.
    Short,
}

impl Gate<'_> {
    fn judge(&mut self, watch: &mut dyn Observer) -> Result<(Vec<TaskReport>, Vec<GateFinding>), CiError> {
        let mut search = Search::open(self.range, self.trust)?;
        let pages = wanted::changed_pages(self.range)?;
        let wanted = wanted::wanted(self.range, &pages, &search.noted()?)?;
        let mut findings = guarded::look(self.range, &pages, &wanted);
        if self.range.changed.is_empty() || self.is_free() {
            return Ok((Vec::new(), findings));
        }
        watch.began("looking for evidence that travelled with the change");
        let reach = self.reach(&mut search, &wanted)?;
        let commit = self.range.to_judge()?;
        let floor = match (reach, &commit) {
            (Reach::Remerged, Some(commit)) => Some(self.ask(commit, TaskWord::None, watch)?),
            _ => None,
        };
        let mut tasks = Vec::new();
        for one in &wanted {
            let attested = self.attested(one, reach, floor.as_ref());
            tasks.push(match attested {
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
        let paths: Vec<_> = self.range.changed.iter().flat_map(|change| change.paths()).collect();
        if paths.is_empty() {
            return self.range.settings.gate.free.iter().any(|glob| glob == "**");
        }
        paths.iter().all(|path| free.iter().any(|glob| glob.matches(path)))
    }

    fn reach(&mut self, search: &mut Search<'_>, wanted: &[Wanted]) -> Result<Reach, CiError> {
        if self.require == Requirement::Verified {
            return Ok(Reach::Short);
        }
        let range = self.range;
        let mut chain = search.of_head()?;
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

    /// What the landings say about a task, if they reach and say something that counts.
    fn attested(
        &self,
        wanted: &Wanted,
        reach: Reach,
        floor: Option<&Result<crate::pipeline::Outcome, VerifyError>>,
    ) -> Option<TaskReport> {
        if reach == Reach::Short || wanted.own.is_some() || wanted.word.is_none() {
            return None;
        }
        let chain = self.chain.as_ref()?;
        let link = chain.links.iter().find(|link| link.landing.task == wanted.id)?;
        if !same(&link.landing.criteria, &wanted.criteria) {
            return None;
        }
        let (kind, mut reasons) = match link.landing.origin {
            WarrantOrigin::Verified => (DecisionKind::Land, Vec::new()),
            WarrantOrigin::Skipped => (DecisionKind::Skip, vec![reason("skipped", link.landing.reason.text.clone())]),
            WarrantOrigin::Override => {
                let text = format!("a person landed it over the verdict ({})", link.landing.reason.text);
                (DecisionKind::Hold, vec![reason("override-landing", text)])
            }
            WarrantOrigin::Unverified if self.require == Requirement::Either => return None,
            WarrantOrigin::Unverified => {
                let text = "it was landed with --no-verify: nobody verified it";
                (DecisionKind::Hold, vec![reason("no-verify-landing", text)])
            }
        };
        let gate = &self.range.settings.gate;
        let (mut kind, mut findings, mut evidence) = (kind, Vec::new(), EvidenceKind::Attested);
        if reach == Reach::Remerged {
            evidence = EvidenceKind::Remerged;
            match floor? {
                Ok(outcome) => {
                    findings = outcome.floor.checks.iter().flat_map(own::findings).collect();
                    if outcome.decision.kind != DecisionKind::FloorOnly {
                        kind = outcome.decision.kind;
                        reasons.extend(outcome.decision.reasons.clone());
                    }
                }
                Err(why) => {
                    kind = DecisionKind::Hold;
                    reasons.push(reason("not-judged", why.to_string()));
                }
            }
        }
        let passes = own::passes(gate, kind);
        if kind == DecisionKind::Skip && !passes {
            reasons.push(reason(
                "skip-held",
                "a SKIP is no pass here: `gate: {skip: true}` at the base would let it through",
            ));
        }
        if reasons.is_empty() {
            reasons.push(reason(evidence.word(), sentence(link, evidence)));
        }
        let verdict = link.landing.verdict.as_ref();
        Some(TaskReport {
            id: wanted.id.clone(),
            title: wanted.title.clone(),
            because: wanted.because.clone(),
            decision: kind,
            passes,
            reasons,
            evidence,
            attested: Some(shown(link)),
            criteria: own::covering(&wanted.criteria, verdict, kind, &[]),
            findings,
            case: link.landing.case.as_ref().map(ToString::to_string),
        })
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
    ) -> Result<Result<crate::pipeline::Outcome, VerifyError>, CiError> {
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
        if told.is_empty() {
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
            let (from, to) = (range.from.short(), range.to.short());
            let said = format!(
                "{from}..{to} ({}, {}) was never certified: judge a range that starts at or before it, e.g. countersign ci --base {from}",
                range.task, range.why
            );
            findings.push(bare("uncertified", State::Ask, range.to.as_str(), &said));
        }
        Ok(findings)
    }

    fn health(&mut self, mut health: Health) -> Health {
        if let Some(why) = self.broken.take() {
            health.works = false;
            health.checks.push(super::report::HealthCheck { name: "box".to_owned(), works: false, text: why });
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
        let (decision, reasons) = verdict(self.range, tasks, findings, self.is_free());
        if decision == CiDecision::Held
            && let Some(approval) = released(self.range, self.trust, &reasons)?
        {
            return Ok((CiDecision::Pass, vec![approval]));
        }
        Ok((decision, reasons))
    }
}

/// The decision over everything, without approvals.
fn verdict(range: &Range, tasks: &[TaskReport], findings: &[GateFinding], free: bool) -> (CiDecision, Vec<Reason>) {
    if !range.conflicts.is_empty() {
        let paths: Vec<String> = range.conflicts.iter().take(10).map(ToString::to_string).collect();
        let text = format!("head and base changed the same places ({}): there is nothing to merge", paths.join(", "));
        return (CiDecision::Held, vec![reason("conflict", text)]);
    }
    let told = |task: &TaskReport| -> Vec<Reason> {
        task.reasons.iter().map(|one| reason(&one.code, format!("{}: {}", task.id, one.text))).collect()
    };
    let failed: Vec<Reason> = tasks.iter().filter(|t| t.decision == DecisionKind::SendBack).flat_map(told).collect();
    if !failed.is_empty() {
        return (CiDecision::Fail, failed);
    }
    let mut reasons: Vec<Reason> = tasks.iter().filter(|task| !task.passes).flat_map(told).collect();
    let open = findings.iter().filter(|finding| finding.state >= State::Ask);
    reasons.extend(open.map(|finding| reason(&finding.check, format!("{}: {}", finding.place, finding.observed))));
    if !reasons.is_empty() {
        return (CiDecision::Held, reasons);
    }
    if !tasks.is_empty() {
        let words =
            tasks.iter().map(|task| reason(task.evidence.word(), format!("{}: {}", task.id, task.decision.word())));
        return (CiDecision::Pass, words.collect());
    }
    if free {
        return (CiDecision::Pass, vec![reason("free", "the settings at the base ask nothing of these paths")]);
    }
    let text = if range.members.is_empty() {
        format!("the range {}..{} has no commit: nothing was checked", range.base.commit.short(), range.head.short())
    } else {
        "the range changes nothing that could be checked".to_owned()
    };
    (CiDecision::Held, vec![reason("nothing-checked", text)])
}

fn sentence(link: &Believed, evidence: EvidenceKind) -> String {
    let landing = &link.landing;
    let who = match (&link.signer, &link.role) {
        (Some(signer), Some(role)) => format!("signed by {signer} ({})", role.word()),
        _ => "not signed, which the base allows".to_owned(),
    };
    let how = if evidence == EvidenceKind::Remerged { ", merged again; floor and tests ran on it here" } else { "" };
    format!("{} verified tree {} on {}, {who}{how}", landing.verifier, landing.tree.short(), landing.parent.short())
}

fn shown(link: &Believed) -> Attested {
    Attested {
        commit: link.landing.commit.clone(),
        tree: link.landing.tree.clone(),
        base: link.landing.parent.clone(),
        signer: link.signer.clone(),
        role: link.role.map(|role| role.word().to_owned()),
        verifier: link.landing.verifier.clone(),
    }
}
