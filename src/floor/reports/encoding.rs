//! The text of an XML report, whatever its encoding.

use super::tally::Tally;

/// How far the XML declaration is searched for an encoding.
const DECLARATION: usize = 200;

/// Decodes UTF-8, UTF-16 (by its mark or its first character) and, where declared, Latin-1. Anything else is decoded
/// with replacements and named: names may be damaged, results are not.
pub(super) fn decode(bytes: &[u8], tally: &mut Tally) -> String {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] | rest @ [b'<', 0, ..] => wide(rest, u16::from_le_bytes, tally),
        [0xfe, 0xff, rest @ ..] | rest @ [0, b'<', ..] => wide(rest, u16::from_be_bytes, tally),
        _ => narrow(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), tally),
    };
    if text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
        tally.remark("the report holds control characters that XML forbids".to_owned());
    }
    text
}

fn wide(bytes: &[u8], order: fn([u8; 2]) -> u16, tally: &mut Tally) -> String {
    if bytes.len() % 2 == 1 {
        tally.trouble("the report is cut inside a UTF-16 character".to_owned());
    }
    let units = bytes.chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
    let mut broken = 0_u64;
    let text = char::decode_utf16(units)
        .map(|c| {
            c.unwrap_or_else(|_| {
                broken += 1;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    if broken > 0 {
        tally.trouble(format!("the report has {broken} characters that are not UTF-16"));
    }
    text
}

fn narrow(bytes: &[u8], tally: &mut Tally) -> String {
    let why = match std::str::from_utf8(bytes) {
        Ok(text) => return text.to_owned(),
        Err(why) => why,
    };
    let head = bytes[..bytes.len().min(DECLARATION)].to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let declared = head.split_once("?>").and_then(|(declaration, _)| declaration.split_once("encoding="));
    let is_latin = declared.is_some_and(|(_, name)| {
        let name = name.trim_start_matches(['"', '\'']);
        ["iso-8859-1", "latin1", "latin-1", "windows-1252"].iter().any(|latin| name.starts_with(latin))
    });
    if is_latin {
        return bytes.iter().map(|byte| char::from(*byte)).collect();
    }
    tally.trouble(format!("the report is not UTF-8 (first bad byte at {})", why.valid_up_to()));
    String::from_utf8_lossy(bytes).into_owned()
}
