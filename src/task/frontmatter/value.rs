//! A single value of a frontmatter line: words, quotes, comments and inline lists.

/// What is wrong with a value; finishes "the value of `key` …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A continued string, a block scalar or a nested map.
    #[error("runs over several lines; put it on one, or write a list as `- item` lines")]
    SeveralLines,
    /// Text beside the key and items below it.
    #[error("is given both beside the key and in lines below it; keep one")]
    TwoForms,
    /// No `]`.
    #[error("opens a list with `[` that is never closed on its line")]
    UnclosedList,
    /// A list in a list.
    #[error("has brackets within brackets; quote the item if they belong to it")]
    Nested,
    /// Two commas in a row, or a bare `-`.
    #[error("has an empty item")]
    EmptyItem,
    /// A quote without its partner, or text after the closing one.
    #[error("has a quote that does not enclose the whole string")]
    Quote,
    /// Text after `]`.
    #[error("has text after its end")]
    Trailing,
    /// `&a`, `*a`, `!tag`.
    #[error("uses a YAML anchor, alias or tag, which are not read; write the value out, or quote it")]
    Anchor,
    /// More than [`super::MAX_ITEMS`].
    #[error("has more than {} items", super::MAX_ITEMS)]
    TooMany,
    /// `{…}`.
    #[error("is a map; write a list")]
    Map,
}

/// The characters outside quotes, each with its offset and the character before it.
struct Outside<'a> {
    chars: std::str::CharIndices<'a>,
    quote: Option<char>,
    before: char,
}

impl<'a> Outside<'a> {
    fn of(raw: &'a str) -> Self {
        Self { chars: raw.char_indices(), quote: None, before: ' ' }
    }
}

impl Iterator for Outside<'_> {
    type Item = (usize, char, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (at, c) = self.chars.next()?;
            let before = std::mem::replace(&mut self.before, c);
            if let Some(open) = self.quote {
                self.quote = Some(open).filter(|open| *open != c);
            // A quote opens a string only where a string can begin: an apostrophe inside a word is a letter.
            } else if matches!(c, '"' | '\'') && matches!(before, ' ' | '\t' | '[' | ',') {
                self.quote = Some(c);
            } else {
                return Some((at, c, before));
            }
        }
    }
}

/// Where the value proper ends in `raw`: before a ` #` comment that is not inside quotes.
fn end(raw: &str) -> usize {
    let comment = Outside::of(raw).find(|(_, c, before)| *c == '#' && matches!(before, ' ' | '\t'));
    comment.map_or(raw, |(at, ..)| &raw[..at]).trim_end().len()
}

/// The value without its trailing comment.
pub(super) fn without_comment(raw: &str) -> &str {
    &raw[..end(raw)]
}

/// One string: without comment and without one layer of quotes. Blank gives the empty string.
pub(super) fn word(raw: &str) -> Result<String, ValueError> {
    let plain = without_comment(raw).trim();
    if let Some(open) = plain.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inner = plain[1..].strip_suffix(open).ok_or(ValueError::Quote)?;
        return if inner.contains(open) { Err(ValueError::Quote) } else { Ok(inner.to_owned()) };
    }
    let alias = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let is_alias = plain.strip_prefix('*').is_some_and(alias);
    if plain.starts_with('&') || is_alias || (plain.starts_with('!') && plain.len() > 1) {
        return Err(ValueError::Anchor);
    }
    if matches!(plain, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        return Err(ValueError::SeveralLines);
    }
    Ok(plain.to_owned())
}

/// A list on one line, in any of its forms.
pub(super) fn list(raw: &str) -> Result<Vec<String>, ValueError> {
    let plain = without_comment(raw).trim();
    if matches!(plain.to_ascii_lowercase().as_str(), "" | "null" | "~" | "none") {
        return Ok(Vec::new());
    }
    if plain.starts_with('{') {
        return Err(ValueError::Map);
    }
    let inner = match plain.strip_prefix('[') {
        None => plain,
        Some(rest) => match closing(rest)? {
            at if at + 1 == rest.len() => rest[..at].trim(),
            _ => return Err(ValueError::Trailing),
        },
    };
    let inner = inner.strip_suffix(',').filter(|_| plain.starts_with('[')).unwrap_or(inner);
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    split_items(inner)
        .into_iter()
        .map(|item| match word(item)? {
            word if word.is_empty() => Err(ValueError::EmptyItem),
            word => Ok(word),
        })
        .collect()
}

/// The offset of the `]` that closes a list whose `[` has been taken off.
fn closing(rest: &str) -> Result<usize, ValueError> {
    let mut outside = Outside::of(rest);
    for (at, c, _) in outside.by_ref() {
        match c {
            '[' => return Err(ValueError::Nested),
            ']' => return Ok(at),
            _ => {}
        }
    }
    Err(if outside.quote.is_some() { ValueError::Quote } else { ValueError::UnclosedList })
}

/// Splits at commas that are neither in quotes nor in a glob's `{a,b}`.
fn split_items(inner: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c, _) in Outside::of(inner) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&inner[start..]);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_keep_their_braces_and_stars() {
        assert_eq!(
            list("[src/**, tests/{a,b}.rs, '[a-z].rs', *.md]").unwrap(),
            ["src/**", "tests/{a,b}.rs", "[a-z].rs", "*.md"]
        );
    }

    #[test]
    fn a_number_sign_without_a_blank_before_it_is_a_letter() {
        assert_eq!(word("w#1").unwrap(), "w#1");
        assert_eq!(word("w-1 #x").unwrap(), "w-1");
        assert_eq!(word("'w # 1' # x").unwrap(), "w # 1");
        assert_eq!(word("# only").unwrap(), "");
        assert_eq!(word("it's # x").unwrap(), "it's");
    }
}
