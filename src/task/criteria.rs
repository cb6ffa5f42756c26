//! Acceptance criteria: which bullets they are, what each says in full, and how it can be proved.
//!
//! Every bullet of an acceptance section is a criterion, with its wrapped lines. What Agentheim's own reader would miss
//! or cut (a suffix on the heading, wrapped lines, nested boxes, odd marks, other bullets) is read and reported as an
//! [`Oddity`]. A nested box is a criterion of its own, numbered after its parent; a nested bullet without a box is part
//! of its parent's text.

mod oddity;

use super::markdown::{self, Cover, Document, Item, Line};
use super::proof::{self, Proof};
use crate::host::path::{escape, is_deceptive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use oddity::{Oddity, OddityKind};

/// How a criterion is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// By a person's eye alone (`[human-eye]`); never by a stand-in.
    HumanEye,
    /// By looking up or running what it names; all of it must hold.
    Checkable(Vec<Proof>),
    /// By a verifier's judgment.
    Judged,
}

/// What one acceptance bullet asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Criterion {
    /// Its number in the brief, in reading order: 1 for `C1`.
    pub number: u32,
    /// Its whole text without bullet and box, white space folded to single blanks.
    pub text: String,
    /// How it is judged.
    pub kind: Kind,
}

impl Criterion {
    /// `C1` and so on.
    pub fn label(&self) -> String {
        format!("C{}", self.number)
    }
}

/// A criterion as it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Bullet {
    /// What it asks for.
    #[serde(flatten)]
    pub criterion: Criterion,
    /// Its first line in the file, counted from 1.
    pub line: usize,
    /// Its last line, nested boxes included.
    pub last_line: usize,
    /// The character in its box; none if it is a bullet without a box.
    pub mark: Option<char>,
    /// True for `[x]` and `[X]`.
    pub ticked: bool,
    /// True if it stands inside another bullet.
    pub nested: bool,
}

impl Bullet {
    /// True if it runs over more than one line.
    pub fn is_wrapped(&self) -> bool {
        self.last_line > self.line
    }
}

/// A body's criteria and what is odd about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Criteria {
    /// In reading order.
    pub list: Vec<Bullet>,
    /// In reading order, the file-wide ones first.
    pub oddities: Vec<Oddity>,
}

/// A bullet while its lines are still coming in.
struct Draft {
    line: usize,
    last_line: usize,
    indent: usize,
    mark: Option<char>,
    nested: bool,
    lines: Vec<String>,
}

struct Reader {
    drafts: Vec<Draft>,
    /// Indexes of the bullets that enclose the next line, outermost first.
    open: Vec<usize>,
    after_blank: bool,
    oddities: Vec<Oddity>,
}

/// Reads the criteria of a body.
pub fn read(document: &Document<'_>) -> Criteria {
    let mut reader = Reader { drafts: Vec::new(), open: Vec::new(), after_blank: false, oddities: Vec::new() };
    if let Some(line) = document.unclosed {
        reader.note(
            OddityKind::UnclosedBlock,
            line,
            "a code fence or comment opened here is never closed; what follows counts",
        );
    }
    let mut section: Option<u8> = None;
    let mut sections = 0;
    for line in &document.lines {
        if let (Some(level), Some(title)) = (line.level, line.title()) {
            reader.open.clear();
            if is_acceptance(title) {
                sections += 1;
                reader.heading(line.number, level, title, sections);
                section = Some(section.map_or(level, |outer| outer.min(level)));
                continue;
            }
            if section.is_some_and(|own| level <= own) {
                section = None;
            }
        } else if section.is_some() {
            reader.line(line);
        }
    }
    reader.finish()
}

/// True for a heading that opens an acceptance section: `Acceptance criteria` in any case, with or without a suffix.
fn is_acceptance(title: &str) -> bool {
    const NAME: &str = "acceptance criteria";
    let folded = title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    folded
        .strip_prefix(NAME)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
}

impl Reader {
    fn note(&mut self, id: OddityKind, line: usize, message: impl Into<String>) {
        self.oddities.push(Oddity { id, line, message: message.into() });
    }

    fn heading(&mut self, line: usize, level: u8, title: &str, sections: usize) {
        if level != 2 || !title.eq_ignore_ascii_case("acceptance criteria") {
            let shown = escape(title.as_bytes());
            let message = format!(
                "the section's heading is level {level}, `{shown}`; Agentheim reads `## Acceptance criteria` only"
            );
            self.note(OddityKind::SectionHeading, line, message);
        }
        if sections > 1 {
            self.note(
                OddityKind::SeveralSections,
                line,
                "another acceptance section; the criteria of all of them count",
            );
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        let outer_fence = line.cover == Cover::Fence && self.open.is_empty();
        if (line.cover == Cover::Comment || outer_fence || line.text.trim_start().starts_with('>'))
            && holds_box(line.text)
        {
            self.note(
                OddityKind::HiddenBox,
                line.number,
                "a box in a comment, code block or quotation is not a criterion",
            );
        }
        if line.cover == Cover::Comment {
            return;
        }
        if line.is_blank() {
            self.after_blank = true;
            return;
        }
        match markdown::item(line.text).filter(|_| !self.in_fence(line)) {
            Some(bullet) => self.bullet(line.number, bullet),
            None => self.words(line),
        }
        self.after_blank = false;
    }

    /// True for a line of a code block, unless a bullet's own first line opens it.
    fn in_fence(&self, line: &Line<'_>) -> bool {
        let own = markdown::item(line.text).is_some_and(|b| b.rest.starts_with("```") || b.rest.starts_with("~~~"));
        line.cover == Cover::Fence && !(own && self.open.is_empty())
    }

    fn bullet(&mut self, number: usize, bullet: Item<'_>) {
        let drafts = &self.drafts;
        self.open.retain(|at| drafts[*at].indent + 2 <= bullet.indent);
        let nested = !self.open.is_empty();
        let (mark, text) = split_box(bullet.rest);
        if nested && mark.is_none() {
            return self.add(number, &format!("{} {}", bullet.marker, bullet.rest));
        }
        if nested {
            self.note(OddityKind::NestedBox, number, "a box inside another bullet counts as a criterion of its own");
        }
        match mark {
            None => self.note(OddityKind::NoBox, number, "a bullet without a box counts as an open criterion"),
            Some(' ' | 'x' | 'X') => {}
            Some(mark) => {
                let shown = escape(mark.to_string().as_bytes());
                self.note(OddityKind::OddMark, number, format!("the mark `[{shown}]` counts as open"));
            }
        }
        if bullet.marker != "-" || (bullet.indent > 0 && !nested) {
            self.note(OddityKind::OddBullet, number, "Agentheim reads only bullets that begin with `-` in column one");
        }
        self.stretch(number);
        self.open.push(self.drafts.len());
        self.drafts.push(Draft {
            line: number,
            last_line: number,
            indent: bullet.indent,
            mark,
            nested,
            lines: vec![text.to_owned()],
        });
    }

    fn words(&mut self, line: &Line<'_>) {
        if self.after_blank || line.cover == Cover::Fence {
            let indent = line.indent();
            let drafts = &self.drafts;
            self.open.retain(|at| drafts[*at].indent < indent);
        }
        self.add(line.number, line.text);
    }

    /// Adds a line to the innermost open bullet.
    fn add(&mut self, number: usize, text: &str) {
        if let Some(at) = self.open.last() {
            self.drafts[*at].lines.push(text.trim().to_owned());
        }
        self.stretch(number);
    }

    fn stretch(&mut self, number: usize) {
        for at in &self.open {
            self.drafts[*at].last_line = number;
        }
    }

    fn finish(mut self) -> Criteria {
        let drafts = std::mem::take(&mut self.drafts);
        let list = (1..).zip(drafts).map(|(number, draft)| self.criterion(number, &draft)).collect();
        Criteria { list, oddities: self.oddities }
    }

    fn criterion(&mut self, number: u32, draft: &Draft) -> Bullet {
        let joined = draft.lines.join(" ");
        let text = joined.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            self.note(OddityKind::EmptyCriterion, draft.line, format!("C{number} says nothing"));
        }
        if joined.chars().any(|c| c != '\t' && is_deceptive(c)) {
            let message = format!("C{number} holds hidden or control characters: {}", escape(text.as_bytes()));
            self.note(OddityKind::HiddenCharacters, draft.line, message);
        }
        let kind = self.kind(number, draft.line, joined.trim());
        Bullet {
            criterion: Criterion { number, text, kind },
            line: draft.line,
            last_line: draft.last_line,
            mark: draft.mark,
            ticked: matches!(draft.mark, Some('x' | 'X')),
            nested: draft.nested,
        }
    }

    fn kind(&mut self, number: u32, line: usize, text: &str) -> Kind {
        let proofs = proof::proofs(text);
        if is_human_eye(&outside_code(text)) {
            if !matches!(&proofs, Ok(none) if none.is_empty()) {
                self.note(
                    OddityKind::ProofOnHumanEye,
                    line,
                    format!("C{number} is for a person's eye; its proof is not looked at"),
                );
            }
            return Kind::HumanEye;
        }
        if is_human_eye(text) {
            self.note(
                OddityKind::QuotedMarker,
                line,
                format!("C{number} quotes `[human-eye]` as code and is not for a person's eye alone"),
            );
        }
        match proofs {
            Ok(proofs) if proofs.is_empty() => {
                if proof::mentions_one(text) {
                    self.note(
                        OddityKind::UnreadProof,
                        line,
                        format!("C{number} seems to name a proof; at its end write test: `name`, file: path or run: `command`"),
                    );
                }
                Kind::Judged
            }
            Ok(proofs) => Kind::Checkable(proofs),
            Err(problem) => {
                self.note(OddityKind::BadProof, line, format!("C{number} is left to judgment: {problem}"));
                Kind::Judged
            }
        }
    }
}

/// Splits `[x] text` into the mark and the text.
fn split_box(rest: &str) -> (Option<char>, &str) {
    let inner = || {
        let after = rest.strip_prefix('[')?;
        let mark = after.chars().next()?;
        let (mark, text) =
            if mark == ']' { (' ', &after[1..]) } else { (mark, after[mark.len_utf8()..].strip_prefix(']')?) };
        let known = matches!(mark, ' ' | 'x' | 'X') && !text.starts_with(['(', '[', ':']);
        (known || text.is_empty() || text.starts_with([' ', '\t'])).then(|| (mark, text.trim_start()))
    };
    inner().map_or((None, rest), |(mark, text)| (Some(mark), text))
}

fn holds_box(text: &str) -> bool {
    let inner = text.trim_start().trim_start_matches("<!--").trim_start_matches(['>', ' ']);
    markdown::item(inner).is_some_and(|found| split_box(found.rest).0.is_some())
}

fn is_human_eye(text: &str) -> bool {
    text.to_ascii_lowercase().contains("[human-eye]")
}

/// The text with its code spans taken out.
fn outside_code(text: &str) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.match_indices('`') {
        match runs.last_mut() {
            Some((start, length)) if *start + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    // Knowing where a length occurs last keeps this linear, whatever lengths a hostile text mixes.
    let last: BTreeMap<usize, usize> = runs.iter().enumerate().map(|(index, (_, length))| (*length, index)).collect();
    let mut out = String::with_capacity(text.len());
    let (mut from, mut next) = (0, 0);
    while let Some((start, length)) = runs.get(next).copied() {
        next += 1;
        if last.get(&length).is_some_and(|index| *index >= next) {
            while let Some((end, found)) = runs.get(next).copied() {
                next += 1;
                if found == length {
                    out.push_str(&text[from..start]);
                    from = end + length;
                    break;
                }
            }
        }
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
#[path = "criteria/tests.rs"]
mod tests;
