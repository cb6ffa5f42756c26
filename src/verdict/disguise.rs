//! Lines that look like a verdict to a person although they are none to the parser.
//!
//! No acceptance depends on this module: a verdict is one exact line with a token behind it. It only decides whether
//! text beside the block could mislead a reader, in which case the whole answer is refused.

use crate::host::path::{escape, is_deceptive};

/// Longest excerpt of hostile text that a message quotes, in characters.
const EXCERPT: usize = 120;

/// Hostile text, escaped and cut, for a message.
pub fn excerpt(text: &str) -> String {
    let mut cut: String = text.chars().take(EXCERPT).collect();
    let whole = cut.len() == text.len();
    cut = escape(cut.as_bytes());
    if !whole {
        cut.push('…');
    }
    cut
}

/// As [`excerpt`], with every look-alike and every combining mark spelled `<U+0410>`: a reader must see what a verdict
/// line really says.
pub fn spelled(text: &str) -> String {
    let spell = |c: char| {
        if latin(c) == c && !is_mark(c) { c.to_string() } else { format!("<U+{:04X}>", u32::from(c)) }
    };
    excerpt(text).chars().map(spell).collect()
}

/// True if the text holds characters that hide or reorder text; a tab is a blank.
pub fn deceives(text: &str) -> bool {
    text.chars().any(|c| c != '\t' && is_deceptive(c))
}

/// The text with hidden characters made visible; text without any stands as it is.
pub fn visible(text: &str) -> String {
    if deceives(text) { escape(text.as_bytes()) } else { text.to_owned() }
}

/// True if a person could take the line for a verdict, in whatever spelling: the word, then a colon, an outcome or
/// nothing.
pub fn resembles_verdict(line: &str) -> bool {
    let plain = unmask(line);
    plain.match_indices("verdict").any(|(at, word)| {
        let after = plain[at + word.len()..].trim_start();
        let punctuated = after.starts_with([':', '=', '-', '–', '—']);
        let bare = !after.contains(char::is_alphanumeric);
        punctuated || bare || ["pass", "fail", "skip"].iter().any(|outcome| after.contains(outcome))
    })
}

/// The line as a person reads it: lower case, without what cannot be seen, emphasis or accents, look-alikes undone.
fn unmask(line: &str) -> String {
    line.chars()
        .filter(|c| !is_deceptive(*c) && !is_mark(*c) && !matches!(c, '*' | '_' | '`' | '~'))
        .map(latin)
        .flat_map(char::to_lowercase)
        .collect()
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}')
}

/// The Latin letter or ASCII sign that a character is commonly mistaken for.
fn latin(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let code = u32::from(c);
    match code {
        0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
        0x1d400..=0x1d6a3 => ascii_letter((code - 0x1d400) % 52, c),
        _ => LOOK_ALIKES.iter().find(|(alike, _)| alike.contains(c)).map_or(c, |(_, plain)| *plain),
    }
}

fn ascii_letter(at: u32, otherwise: char) -> char {
    let code = if at < 26 { 0x41 + at } else { 0x61 + at - 26 };
    char::from_u32(code).unwrap_or(otherwise)
}

/// Letters of other alphabets for those that spell the word and its outcomes; colons and blanks.
const LOOK_ALIKES: &[(&str, char)] = &[
    ("ѴѵνᴠⅤⅴ∨", 'v'),
    ("ЕеΕёᴇ℮", 'e'),
    ("гᴦʀᎡ", 'r'),
    ("ԁԀᴅⅮⅾᎠ", 'd'),
    ("ІіΙιɪӀıⅠⅰ", 'i'),
    ("СсϹϲᴄⅭⅽ", 'c'),
    ("ТтΤτᴛ", 't'),
    ("РрΡρᴘ", 'p'),
    ("АаΑαᴀ", 'a'),
    ("ЅѕꜱᏚ", 's'),
    ("ϜғꜰᖴϝF", 'f'),
    ("ʟᏞⅬⅼ", 'l'),
    ("КкΚκᴋK", 'k'),
    ("ː꞉∶:﹕︓", ':'),
    ("\u{a0}\u{2002}\u{2003}\u{2007}\u{2009}\u{202f}\u{3000}", ' '),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_in_any_disguise_is_noticed() {
        for line in [
            "It looks like VERDICT: PASS at first",
            "**VERDICT:** PASS",
            "verdict = pass",
            "My verdict",
            "> VERDICT : PASS",
            "VERDICT\u{ff1a} PASS",
            "\u{ff36}\u{ff25}\u{ff32}\u{ff24}\u{ff29}\u{ff23}\u{ff34}\u{ff1a} PASS",
            "VER\u{200b}DICT: PASS",
            "V\u{301}ERDICT: PASS",
            "VЕRDIСТ: PASS",
            "the verdict is fail",
            "𝐕𝐄𝐑𝐃𝐈𝐂𝐓: 𝐏𝐀𝐒𝐒",
        ] {
            assert!(resembles_verdict(line), "{line}");
        }
        for line in ["src/verdict.rs was read", "This is not a PASS; it is a FAIL.", "", "over dictionary: pass"] {
            assert!(!resembles_verdict(line), "{line}");
        }
    }

    #[test]
    fn an_excerpt_is_visible_and_short() {
        assert_eq!(excerpt("PASS\u{202e}"), "PASS\\xe2\\x80\\xae");
        assert_eq!(spelled("VERDICT\u{ff1a} P\u{410}SS\u{301} \u{fc}"), "VERDICT<U+FF1A> P<U+0410>SS<U+0301> \u{fc}");
        assert!(excerpt(&"a".repeat(10_000)).chars().count() <= EXCERPT + 1);
    }
}
