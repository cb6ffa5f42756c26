//! `countersign work`, `resume` and `status`: the conductor, and how it stands.

mod narration;

use super::args::{AgentWord, ResumeArgs, RoleWord, StatusArgs, WorkArgs};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::host::Host;
use crate::pipeline::work::{End, StatusReport, TaskEnd, WorkEvent, WorkReport, WorkRequest, plan_only, work};
use crate::task::plan::{HeldBack, Plan};
use narration::Narration;
use std::path::{Path, PathBuf};

pub(super) fn run(args: WorkArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let (json, events, dry) = (args.json, args.events, args.dry_run);
    let request = request_of(args, start);
    if dry {
        let plan = plan_only(&request, host)?;
        if json || events {
            console.json(&plan)?;
        } else {
            print_plan(&plan, console);
        }
        return Ok(ExitCode::Pass);
    }
    conduct(&request, (json, events), host, console)
}

pub(super) fn resume(args: ResumeArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let (json, events) = (args.work.json, args.work.events);
    let request = WorkRequest { resume: true, only_resume: true, ..request_of(args.work, start) };
    conduct(&request, (json, events), host, console)
}

fn request_of(args: WorkArgs, start: PathBuf) -> WorkRequest {
    let named = |role: RoleWord| {
        let mut words = args.agent.iter().rev().filter(|word| word.role == role);
        words.next().map(|word: &AgentWord| word.name.clone())
    };
    WorkRequest {
        start,
        worker: named(RoleWord::Worker),
        verifier: named(RoleWord::Verifier),
        names: args.tasks,
        into: args.into,
        parallel: usize::from(args.parallel.get()),
        resume: false,
        only_resume: false,
        no_verify: args.no_verify,
    }
}

/// Runs the conductor, telling what happens on stderr (or as JSON lines on stdout), and its answer at the end.
fn conduct(
    request: &WorkRequest,
    (json, events): (bool, bool),
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<ExitCode> {
    let report = if events {
        let report = work(request, host, &mut |event| console.json_line(event))?;
        console.json_line(&WorkEvent::Report(Box::new(report.clone())));
        report
    } else {
        Narration::during(host.clock, |narration| work(request, host, &mut |event| narration.hear(event)))?
    };
    if json {
        console.json(&report)?;
    } else if !events {
        print_report(&report, console);
    }
    Ok(code_of(&report, request))
}

/// 0: everything the run was about landed; 3: a person has something to do; 4: the machine or the repository stopped a task.
fn code_of(report: &WorkReport, request: &WorkRequest) -> ExitCode {
    if report.tasks.iter().any(|task| matches!(task.end, End::Stopped { .. })) {
        return ExitCode::Environment;
    }
    let landed = report.tasks.iter().all(|task| matches!(task.end, End::Landed { .. }));
    let whole_board = request.names.is_empty() && !request.only_resume;
    let waiting = whole_board && !(report.held_back.is_empty() && report.cycles.is_empty());
    if landed && !waiting { ExitCode::Pass } else { ExitCode::Held }
}

fn print_plan(plan: &Plan, console: &mut Console) {
    console.answer(&format!("{} would start", count(plan.ready.len(), "task")));
    for ready in &plan.ready {
        console.answer(&visible(&format!("  {:<28} {}", ready.id, ready.title)));
    }
    for id in &plan.resumed {
        console.answer(&visible(&format!("  {id:<28} is under way and would be carried on")));
    }
    for (first, second) in &plan.overlaps {
        console.answer(&visible(&format!("  {first} and {second} may touch the same files: they land in this order")));
    }
    print_waiting(&plan.held_back, &plan.cycles, console);
}

fn print_waiting(held_back: &[HeldBack], cycles: &[Vec<String>], console: &mut Console) {
    if !held_back.is_empty() {
        console.answer(&format!("{} in `todo` cannot start", count(held_back.len(), "task")));
    }
    for task in held_back {
        let why: Vec<String> = task.why.iter().map(ToString::to_string).collect();
        console.answer(&visible(&format!("  {:<28} {}", task.task, why.join("; "))));
    }
    for cycle in cycles {
        console.answer(&visible(&format!("circle of dependencies: {}", cycle.join(" → "))));
    }
}

fn print_report(report: &WorkReport, console: &mut Console) {
    let branch = report.target.strip_prefix("refs/heads/").unwrap_or(&report.target);
    let landed = report.tasks.iter().filter(|task| matches!(task.end, End::Landed { .. })).count();
    console.answer(&visible(&format!("{landed} of {} landed on {branch}", count(report.tasks.len(), "task"))));
    for task in &report.tasks {
        console.answer(&visible(&format!("  {:<28} {}", task.task, ended(&task.end))));
        print_places(task, console);
    }
    print_waiting(&report.held_back, &report.cycles, console);
    if report.tasks.is_empty() && report.held_back.is_empty() {
        console.answer("the board has nothing to do");
    }
    let others = report.out_of_band.iter().chain(&report.remarks);
    for remark in others {
        console.answer(&visible(&format!("note: {remark}")));
    }
    for folder in &report.leftovers {
        console.answer(&visible(&format!("note: {} could not be deleted; the next run tries again", folder.display())));
    }
    for question in &report.open_questions {
        let since = question.since.as_ref().map(|since| format!(" (open since {since})")).unwrap_or_default();
        console.answer(&visible(&format!("  the vision asks: {}{since}", question.text)));
    }
}

/// Where work that did not land is, and who goes on with it.
fn print_places(task: &TaskEnd, console: &mut Console) {
    if matches!(&task.end, End::Held { code, .. } if ["held", "escalated", "task-under-specified"].contains(&code.as_str()))
    {
        console.answer(&visible(&format!("  {:<28}   countersign decide {}", "", task.task)));
    }
    if let Some(worktree) = &task.worktree {
        console.answer(&visible(&format!("  {:<28}   its work is in {}", "", worktree.display())));
    }
    if let Some(why) = &task.kept {
        console.answer(&visible(&format!("  {:<28}   its worktree is still there: {why}", "")));
    }
    for place in &task.saved {
        console.answer(&visible(&format!("  {:<28}   saved: {place}", "")));
    }
}

/// How a task ended, in words.
fn ended(end: &End) -> String {
    match end {
        End::Landed { commit } => format!("landed as {}", &commit[..12.min(commit.len())]),
        End::Bounced => "bounced: its worker gave it back, it is in `backlog` with a note".to_owned(),
        End::Held { code, why } => format!("held ({code}): {why}"),
        End::Foreign { why } => format!("left alone: {why}"),
        End::Stopped { why } => format!("stopped: {why}"),
    }
}

pub(super) fn status(args: &StatusArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let report = StatusReport::read(start, args.into.as_deref(), host)?;
    if args.json {
        console.json(&report)?;
        return Ok(ExitCode::Pass);
    }
    let now = host.clock.now();
    let branch = report.target.strip_prefix("refs/heads/").unwrap_or(&report.target);
    console.answer(&visible(&format!(
        "board of {branch}: {} ready, {} under way",
        report.ready.len(),
        report.tasks.len()
    )));
    for task in &report.tasks {
        let attempt = if task.iteration > 0 { format!(", attempt {}", task.iteration) } else { String::new() };
        let ago = |at: crate::host::clock::Timestamp| narration::span(now.0.saturating_sub(at.0));
        let since = task.since.map(|at| format!(", for {}", ago(at))).unwrap_or_default();
        let active = task.active.map(|at| format!(", last active {} ago", ago(at))).unwrap_or_default();
        let when = if task.state == "running" { format!("{since}{active}") } else { String::new() };
        console.answer(&visible(&format!("  {:<28} {}{attempt}{when}: {}", task.task, task.state, task.why)));
        if let Some(worktree) = &task.worktree {
            console.answer(&visible(&format!("  {:<28}   its work is in {}", "", worktree.display())));
        }
        for place in &task.saved {
            console.answer(&visible(&format!("  {:<28}   saved: {place}", "")));
        }
    }
    for ready in &report.ready {
        console.answer(&visible(&format!("  {:<28} ready: {}", ready.id, ready.title)));
    }
    print_waiting(&report.held_back, &report.cycles, console);
    for range in &report.uncertified {
        let (parent, commit) = (range.parent.short(), range.commit.short());
        console.answer(&visible(&format!("nobody verified {parent}..{commit} ({}, {})", range.task, range.origin)));
    }
    Ok(ExitCode::Pass)
}
