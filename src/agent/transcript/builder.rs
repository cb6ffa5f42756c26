//! Gathers events from records of any program.

use super::event::{Actor, Excerpt, ExitSource, ToolEvent, ToolKind, ToolStatus};
use super::input::{command_of, in_background, paths_of};
use super::wire::Record;
use super::{Damage, Dialect, NAMED_LINES, Transcript, claude, codex, copilot, gemini, pi, qwen};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// Bytes of output excerpts that are held at once. Beyond it the oldest keep only their size and digest.
const HELD_EXCERPTS: usize = 8 << 20;

/// How many calls are held. What comes later is not read, and the ledger says so.
const MOST_CALLS: usize = 200_000;

/// How many bytes of the last words are kept.
const LAST_WORDS: usize = 64 << 10;

/// A call as a program recorded it.
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) kind: ToolKind,
    pub(super) actor: Actor,
    pub(super) input: Option<&'a RawValue>,
    pub(super) cwd: Option<String>,
    pub(super) at: Option<i64>,
}

/// What has been read so far.
#[derive(Default)]
pub(super) struct Builder {
    key: RandomState,
    file: usize,
    line: u64,
    session: Option<String>,
    cwd: Option<String>,
    began: Option<i64>,
    events: Vec<ToolEvent>,
    /// Place of the first event of the file being read.
    from: usize,
    calls: HashMap<u64, usize>,
    /// Commands that go on, by the id under which the program asks after them.
    running: HashMap<String, usize>,
    /// Calls that ask after one of them.
    polls: HashMap<usize, String>,
    works_in: Option<String>,
    /// Where a sub-agent's events belong: behind the call that started it, by the sub-agent's id.
    hosts: HashMap<String, usize>,
    asked: Option<String>,
    last_words: Option<String>,
    records: u64,
    skipped: BTreeMap<String, u64>,
    damaged: Vec<Damage>,
    damaged_lines: u64,
    orphans: u64,
    seen: HashSet<u64>,
    lost_parents: u64,
    /// Records that were not read, for too many calls before them.
    beyond: u64,
    other_gaps: Vec<String>,
    /// Events before this one gave their excerpts up.
    kept_from: usize,
    held: usize,
    /// Turns and messages, for conversations that were taken back: place of the first event of each.
    turns: Vec<(String, usize)>,
    messages: HashSet<u64>,
    subs: Vec<(usize, usize)>,
}

impl Builder {
    pub(super) fn open_file(&mut self, index: usize) {
        self.close_file();
        self.file = index;
        self.from = self.events.len();
        self.turns.clear();
    }

    /// An id in eight bytes. The key is drawn anew for every reading, so nobody can choose two ids that are one.
    fn fingerprint(&self, id: &str) -> u64 {
        self.key.hash_one(id)
    }

    /// True if no further call is held; counts what is left out for it.
    pub(super) fn is_full(&mut self) -> bool {
        let full = self.events.len() >= MOST_CALLS;
        self.beyond += u64::from(full);
        full
    }

    fn close_file(&mut self) {
        if self.file > 0 {
            self.subs.push((self.file, self.from));
        }
    }

    /// True while a sub-agent's file is read.
    pub(super) fn in_sub_file(&self) -> bool {
        self.file > 0
    }

    pub(super) fn damage(&mut self, line: u64, why: String) {
        self.damaged_lines += 1;
        if self.damaged.len() < NAMED_LINES {
            self.damaged.push(Damage { file: self.file, line, why });
        }
    }

    /// Counts a record that is not used.
    pub(super) fn skip(&mut self, kind: &str) {
        // Kinds come from the file: a hostile one has a different kind on every line.
        let kind = if self.skipped.len() < 64 || self.skipped.contains_key(kind) { kind } else { "other kinds" };
        let kind: String = kind.chars().take(64).collect();
        *self.skipped.entry(kind).or_default() += 1;
    }

    pub(super) fn take(&mut self, dialect: Dialect, record: &Record<'_>, line: u64) {
        if self.is_full() {
            return;
        }
        self.record(line);
        match dialect {
            Dialect::Claude => claude::take(self, record),
            Dialect::Codex => codex::take(self, record),
            Dialect::Copilot => copilot::take(self, record),
            Dialect::Gemini => gemini::take(self, record),
            Dialect::Pi => pi::take(self, record),
            Dialect::Qwen => qwen::take(self, record),
            // It keeps rows, not lines.
            Dialect::Opencode => {}
        }
    }

    /// An intact record begins here.
    pub(super) fn record(&mut self, line: u64) {
        self.records += 1;
        self.line = line;
    }

    /// Something is missing for a reason that only its reader knows.
    pub(super) fn gap(&mut self, why: String) {
        self.other_gaps.push(why);
    }

    /// Notes whose session this is and when it goes on. The first word counts: a resumed session copies older records.
    pub(super) fn note(&mut self, session: Option<String>, cwd: Option<String>, at: Option<i64>) {
        if self.in_sub_file() {
            return;
        }
        self.session = self.session.take().or(session);
        self.cwd = self.cwd.take().or(cwd);
        self.began = self.began.or(at);
    }

    /// Notes a record's id and its parent's. A parent that was never seen is a gap.
    pub(super) fn chain(&mut self, id: Option<&str>, parent: Option<&str>) {
        if let Some(parent) = parent
            && !self.seen.contains(&self.fingerprint(parent))
        {
            self.lost_parents += 1;
        }
        if let Some(id) = id {
            let id = self.fingerprint(id);
            self.seen.insert(id);
        }
    }

    /// A call. The same id again is the same call: programs repeat records.
    pub(super) fn call(&mut self, call: Call<'_>) -> usize {
        if !call.id.is_empty()
            && let Some(known) = self.place_of(call.id)
        {
            return known;
        }
        let input: Option<Record<'_>> = call.input.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let at = self.events.len();
        self.events.push(ToolEvent {
            file: self.file,
            line: self.line,
            answered: None,
            actor: call.actor,
            call: call.id.to_owned(),
            tool: call.tool.chars().take(128).collect(),
            kind: call.kind,
            cwd: call.cwd,
            command: input.as_ref().and_then(command_of),
            paths: input.as_ref().map(paths_of).unwrap_or_default(),
            started: call.at,
            ended: None,
            status: ToolStatus::Unknown,
            exit: None,
            exit_source: ExitSource::None,
            output: Excerpt::default(),
            truncated: false,
            background: input.as_ref().is_some_and(in_background),
            rolled_back: false,
            user_modified: false,
        });
        if !call.id.is_empty() {
            let id = self.fingerprint(call.id);
            self.calls.insert(id, at);
        }
        at
    }

    pub(super) fn event(&mut self, at: usize) -> &mut ToolEvent {
        &mut self.events[at]
    }

    /// The event of a call id, without marking it answered.
    pub(super) fn place_of(&self, id: &str) -> Option<usize> {
        self.calls.get(&self.fingerprint(id)).copied()
    }

    /// The event that a result belongs to. A result without a call is counted.
    pub(super) fn answer(&mut self, id: &str, at: Option<i64>) -> Option<usize> {
        let Some(place) = self.place_of(id) else {
            self.orphans += 1;
            return None;
        };
        self.answered(place, at);
        Some(place)
    }

    /// The result of this event stands in the record being read.
    pub(super) fn answered(&mut self, place: usize, at: Option<i64>) {
        let line = self.line;
        let event = self.event(place);
        event.answered = Some(line);
        event.ended = at;
    }

    /// Keeps an output's excerpt, within the budget of all.
    pub(super) fn output(&mut self, place: usize, text: &str) {
        let excerpt = Excerpt::of(text);
        self.held += excerpt.head.len() + excerpt.tail.len();
        self.events[place].output = excerpt;
        while self.held > HELD_EXCERPTS && self.kept_from < self.events.len() {
            let old = &mut self.events[self.kept_from].output;
            self.held -= old.head.len() + old.tail.len();
            (old.head, old.tail) = (String::new(), String::new());
            self.kept_from += 1;
        }
    }

    /// A command goes on under this id.
    pub(super) fn goes_on(&mut self, id: &str, place: usize) {
        self.running.insert(id.to_owned(), place);
        let event = self.event(place);
        event.status = ToolStatus::Running;
        event.background = true;
    }

    /// The command that goes on under this id.
    pub(super) fn going_on(&self, id: &str) -> Option<usize> {
        self.running.get(id).copied()
    }

    /// A sub-agent with this id was started by that call.
    pub(super) fn hosts(&mut self, sub: &str, place: usize) {
        self.hosts.insert(sub.to_owned(), place);
    }

    /// Where the agent works from now on.
    pub(super) fn works_in(&mut self, cwd: Option<String>) {
        self.works_in = cwd.or(self.works_in.take());
    }

    /// Where the agent works now, as far as it is recorded.
    pub(super) fn place_of_work(&self) -> Option<String> {
        self.works_in.clone().or_else(|| self.cwd.clone())
    }

    /// This call asks after the command that goes on under that id.
    pub(super) fn asks_after(&mut self, place: usize, id: String) {
        self.polls.insert(place, id);
    }

    /// The command that this call asks after.
    pub(super) fn asked_after(&self, place: usize) -> Option<usize> {
        self.polls.get(&place).and_then(|id| self.going_on(id))
    }

    /// A message with this id begins, unless it is written anew.
    pub(super) fn message(&mut self, id: &str) {
        let print = self.fingerprint(id);
        if self.messages.insert(print) {
            self.turn(id);
        }
    }

    /// A turn begins.
    pub(super) fn turn(&mut self, id: &str) {
        self.turns.push((id.to_owned(), self.events.len()));
    }

    /// Takes the last turns back.
    pub(super) fn take_back(&mut self, turns: usize) {
        let keep = self.turns.len().saturating_sub(turns);
        self.take_back_from(keep);
    }

    /// Takes this turn and all later ones back. An id that was never seen is a gap.
    pub(super) fn take_back_to(&mut self, id: &str) {
        match self.turns.iter().rposition(|(known, _)| known == id) {
            Some(keep) => self.take_back_from(keep),
            None => self.lost_parents += 1,
        }
    }

    fn take_back_from(&mut self, keep: usize) {
        let from = self.turns.get(keep).map_or(self.events.len(), |(_, at)| *at);
        for event in &mut self.events[from..] {
            event.rolled_back = true;
        }
        self.turns.truncate(keep);
    }

    /// The agent said something on its main line.
    pub(super) fn say(&mut self, text: &str) {
        if self.in_sub_file() || text.trim().is_empty() {
            return;
        }
        let end = (0..=text.len().min(LAST_WORDS)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.last_words = Some(text[..end].to_owned());
    }

    /// Somebody asked the agent for something. What programs put there themselves opens with a tag or a heading.
    pub(super) fn asked(&mut self, text: &str) {
        let text = text.trim();
        if self.in_sub_file() || text.is_empty() || text.starts_with(['<', '#', '[']) || text.starts_with("Caveat:") {
            return;
        }
        let end = (0..=text.len().min(LAST_WORDS)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.asked = Some(text[..end].to_owned());
    }

    pub(super) fn finish(mut self, dialect: Dialect, files: Vec<PathBuf>) -> Transcript {
        self.close_file();
        let gaps = self.gaps();
        let events = self.in_order();
        Transcript {
            dialect,
            files,
            session: self.session,
            cwd: self.cwd,
            began: self.began,
            events,
            asked: self.asked,
            last_words: self.last_words,
            records: self.records,
            skipped: self.skipped,
            damaged: self.damaged,
            damaged_lines: self.damaged_lines,
            gaps,
        }
    }

    fn gaps(&self) -> Vec<String> {
        let open = self.events.iter().filter(|event| event.answered.is_none()).count();
        let mut gaps = self.other_gaps.clone();
        for (count, what) in [
            (open as u64, "calls have no recorded result"),
            (self.orphans, "results belong to no recorded call"),
            (self.lost_parents, "records follow one that is not there"),
            (self.beyond, "records behind the first 200000 calls were not read"),
        ] {
            if count > 0 {
                gaps.push(format!("{count} {what}"));
            }
        }
        gaps
    }

    /// Puts each sub-agent's events behind the call that started it; without one, behind the last call made before.
    fn in_order(&mut self) -> Vec<ToolEvent> {
        let ends: Vec<usize> = self.subs.iter().skip(1).map(|(_, from)| *from).chain([self.events.len()]).collect();
        let main = self.subs.first().map_or(self.events.len(), |(_, from)| *from);
        let mut behind: BTreeMap<usize, Vec<std::ops::Range<usize>>> = BTreeMap::new();
        for ((_, from), end) in self.subs.iter().zip(ends) {
            let place = self.host_of(&self.events[*from..end], main);
            behind.entry(place).or_default().push(*from..end);
        }
        if behind.is_empty() {
            return std::mem::take(&mut self.events);
        }
        // Moved, not copied: a long session's events are the most that is held.
        let mut events: Vec<Option<ToolEvent>> = std::mem::take(&mut self.events).into_iter().map(Some).collect();
        let mut ordered = Vec::with_capacity(events.len());
        for place in 0..=main {
            for range in behind.get(&place).into_iter().flatten() {
                ordered.extend(events[range.clone()].iter_mut().filter_map(Option::take));
            }
            if place < main {
                ordered.extend(events[place].take());
            }
        }
        ordered
    }

    /// Before which event of the main line a sub-agent's events stand.
    fn host_of(&self, events: &[ToolEvent], main: usize) -> usize {
        let Some(first) = events.first() else { return main };
        if let Actor::Sub(id) = &first.actor
            && let Some(host) = self.hosts.get(id)
        {
            return host + 1;
        }
        let later = |event: &ToolEvent| matches!((event.started, first.started), (Some(a), Some(b)) if a > b);
        self.events[..main].iter().position(later).unwrap_or(main)
    }
}
