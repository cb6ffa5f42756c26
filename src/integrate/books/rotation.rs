//! Rotation: what is old leaves the diary and the done lists for an archive, whole months at a time and byte for byte
//! (agentheim.md §5.10).

use super::page::Page;
use super::protocol::header_end;

/// The most line ends a diary has before its oldest months go.
pub const LONGEST_DIARY: usize = 1000;

/// The most entries a done list has before its oldest months go.
pub const LONGEST_DONE_LIST: usize = 30;

/// A page that became shorter, and what left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// The page as it is now.
    pub page: String,
    /// Each month that left, `YYYY-MM` or `unknown`, with its bytes; the newest first, as they stood.
    pub months: Vec<(String, String)>,
}

impl Rotated {
    /// The names of the months, oldest first.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.months.iter().rev().map(|(month, _)| month.as_str()).collect();
        names.join(", ")
    }
}

/// Takes the oldest months out of a diary of more than [`LONGEST_DIARY`] line ends; none if it is short enough, or its
/// newest month is all there is.
///
/// # Errors
/// What is wrong with the page.
pub fn rotate_diary(text: &str) -> Result<Option<Rotated>, String> {
    let page = Page::of(text);
    let from = header_end(&page)?;
    let starts: Vec<(usize, String)> =
        (from..page.len()).filter_map(|at| Some((at, month_of_entry(page.line(at))?.to_owned()))).collect();
    Ok(rotate(&page, &starts, page.len(), LONGEST_DIARY, |page| page.text().matches('\n').count()))
}

/// Takes the oldest months out of the done list of an INDEX page with more than [`LONGEST_DONE_LIST`] entries. `month`
/// says when the task of a line was completed.
///
/// # Errors
/// What is wrong with the page: a marker, or a line of the list that is no entry.
pub fn rotate_done_list(text: &str, month: &dyn Fn(&str) -> Option<String>) -> Result<Option<Rotated>, String> {
    let page = Page::of(text);
    let block = page.block("done-list")?;
    let mut starts = Vec::new();
    for at in block.clone().filter(|at| !page.line(*at).trim().is_empty()) {
        let line = page.line(at);
        if !line.starts_with("- **") {
            return Err(format!("line {} of the done list is no entry", at + 1));
        }
        starts.push((at, month(line).unwrap_or_else(|| "unknown".to_owned())));
    }
    let entries = |page: &Page| {
        let block = page.block("done-list").unwrap_or_default();
        block.filter(|at| page.line(*at).starts_with("- **")).count()
    };
    Ok(rotate(&page, &starts, block.end, LONGEST_DONE_LIST, entries))
}

/// Takes runs of one month off the end until the page is short enough; the first run always stays.
fn rotate(
    page: &Page,
    starts: &[(usize, String)],
    end: usize,
    most: usize,
    size: impl Fn(&Page) -> usize,
) -> Option<Rotated> {
    let mut kept = page.clone();
    let (mut left, mut end, mut months) = (starts, end, Vec::new());
    while size(&kept) > most {
        let (_, month) = left.last()?;
        let run = left.iter().rev().take_while(|(_, other)| other == month).count();
        let first = left.len() - run;
        if first == 0 {
            break;
        }
        let from = left[first].0;
        months.push((month.clone(), kept.cut(from..end)));
        (left, end) = (&left[..first], from);
    }
    months.reverse();
    (!months.is_empty()).then(|| Rotated { page: kept.text(), months })
}

/// The month of a diary entry's first line, `## YYYY-MM-DD …`.
fn month_of_entry(line: &str) -> Option<&str> {
    let date = line.strip_prefix("## ")?.get(..10)?;
    let shaped =
        date.bytes().enumerate().all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() });
    if shaped { date.get(..7) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(date: &str, lines: usize) -> String {
        format!("## {date} 10:00 -- Something\n\n{}\n---\n\n", "**A:** b\n".repeat(lines))
    }

    #[test]
    fn whole_months_leave_from_the_oldest_until_the_diary_is_short_and_the_newest_stays() {
        let head = "# Protocol\n\nWords.\n\n---\n\n";
        let [march, feb, jan] = ["2026-03-02", "2026-02-03", "2026-01-04"].map(|date| entry(date, 400));
        let text = format!("{head}{march}{feb}{feb}{jan}");
        let rotated = rotate_diary(&text).unwrap().unwrap();
        assert_eq!(rotated.page, format!("{head}{march}"));
        assert_eq!(
            rotated.months,
            [("2026-02".to_owned(), format!("{feb}{feb}")), ("2026-01".to_owned(), jan.clone())]
        );
        assert_eq!(rotated.names(), "2026-01, 2026-02");
        assert_eq!(rotate_diary(&rotated.page).unwrap(), None, "and that is all");
        let whole: String =
            [rotated.page].into_iter().chain(rotated.months.into_iter().map(|(_, text)| text)).collect();
        assert_eq!(whole, text, "not a byte is lost");
        assert_eq!(rotate_diary(&format!("{head}{}", entry("2026-03-02", 2000))).unwrap(), None);
        let crlf = format!("{head}{march}{feb}{jan}").replace('\n', "\r\n");
        assert_eq!(rotate_diary(&crlf).unwrap().unwrap().page, format!("{head}{march}{feb}").replace('\n', "\r\n"));
        assert!(rotate_diary("# Protocol\n").unwrap_err().contains("header"));
    }

    #[test]
    fn a_done_list_keeps_its_newest_months_and_refuses_lines_it_does_not_know() {
        let line = |n: usize| format!("- **w-{n}** — t (chore) — `done/w-{n}.md`\n");
        let lines: String = (1..=40).rev().map(line).collect();
        let text = format!("# w\n<!-- done-list:start -->\n{lines}<!-- done-list:end -->\n## After\n");
        let month = |line: &str| {
            let number: usize = line.split_once("**w-")?.1.split_once("**")?.0.parse().ok()?;
            Some(
                if number > 35 {
                    "2026-03"
                } else if number > 5 {
                    "2026-02"
                } else {
                    "2026-01"
                }
                .to_owned(),
            )
        };
        let rotated = rotate_done_list(&text, &month).unwrap().unwrap();
        assert_eq!(rotated.months.len(), 2, "five of January are not enough");
        assert_eq!(rotated.page.matches("- **w-").count(), 5);
        assert!(rotated.page.ends_with("<!-- done-list:end -->\n## After\n"));
        assert_eq!(rotated.months[1].1, (1..=5).rev().map(line).collect::<String>());
        assert_eq!(rotate_done_list(&text, &|_| None).unwrap(), None, "one month is the newest");
        let odd = text.replace("- **w-7**", "* w-7");
        assert!(rotate_done_list(&odd, &month).unwrap_err().contains("no entry"));
    }
}
