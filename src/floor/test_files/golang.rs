//! Tests in Go: `func TestX(t *testing.T)`, fuzz tests and examples. Subtests belong to their test.

use super::lexed::Lexed;
use super::marker::{Marker, MarkerKind};
use super::outline::Draft;

/// Scans a file.
pub(super) fn scan(lexed: &Lexed<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let file = file_markers(lexed);
    let mut at = 0;
    for line in lexed.code.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(rest) = line.strip_prefix("func ") else { continue };
        // A method's receiver stands before its name.
        let receiver = rest.starts_with('(').then(|| lexed.after_closing(start + 5));
        let name_at =
            receiver.map_or(start + 5, |end| end + lexed.code[end..].len() - lexed.code[end..].trim_start().len());
        let name: String = lexed.code[name_at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(open) = lexed.head(name_at).find('(') else { continue };
        let arguments_end = lexed.after_closing(name_at + open);
        let arguments = &lexed.code[name_at + open..arguments_end];
        let head = lexed.head(arguments_end).lines().next().unwrap_or_default();
        let Some(brace) = head.rfind('{') else { continue };
        let end = lexed.after_closing(arguments_end + brace);
        let is_named =
            |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()));
        let takes = |kind: &str| arguments.contains(&format!("testing.{kind}"));
        let is_test = receiver.is_none()
            && (is_named("Test") && takes("T") && !takes("TB")
                || is_named("Fuzz") && takes("F")
                || is_named("Example") && arguments == "()");
        drafts.push(Draft {
            name,
            whole: start..end,
            body: lexed.inside(arguments_end + brace),
            parameters: Vec::new(),
            markers: if is_test { file.clone() } else { Vec::new() },
            is_test,
        });
    }
    drafts
}

/// A build constraint keeps the whole file out of ordinary runs.
fn file_markers(lexed: &Lexed<'_>) -> Vec<Marker> {
    let constraint = |line: &&str| line.starts_with("//go:build ") || line.starts_with("// +build ");
    let head = lexed.text.lines().take_while(|line| !line.starts_with("package "));
    head.enumerate()
        .filter(|(_, line)| constraint(line))
        .map(|(at, line)| Marker { kind: MarkerKind::Skip, line: at + 1, conditional: !line.ends_with(" ignore") })
        .collect()
}
