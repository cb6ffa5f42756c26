//! Records of a line: JSON objects whose parts are parsed only when somebody asks for them.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How many places of a damaged line are tried as the start of an intact record.
const TRIES: usize = 64;

/// One JSON value of a transcript.
pub(super) struct Record<'a> {
    shape: &'static str,
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Record<'a> {
    /// Its `type`, if it is an object that has one.
    pub(super) fn kind(&self) -> Option<&'a str> {
        self.get("type")
    }

    /// What it is counted as when it is not used.
    pub(super) fn counted_as(&self) -> &'a str {
        match self.kind() {
            Some(kind) => kind,
            None if self.fields.is_empty() => self.shape,
            None => "-",
        }
    }

    /// True if it has this field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(known, _)| known == name)
    }

    /// A field, parsed; nothing if it is absent or of another shape. The last of several counts, as in JSON parsers.
    pub(super) fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        let (_, raw) = self.fields.iter().rev().find(|(known, _)| known == name)?;
        serde_json::from_str(raw.get()).ok()
    }

    /// A text field, also one with escapes.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get::<Cow<'a, str>>(name).map(Cow::into_owned)
    }

    /// A time field in ISO 8601, in milliseconds since 1970 UTC.
    pub(super) fn time(&self, name: &str) -> Option<i64> {
        milliseconds(&self.text(name)?)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Record<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Record<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(Key(name)) = map.next_key()? {
            fields.push((name, map.next_value()?));
        }
        Ok(Record { shape: "-", fields })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Record<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(shapeless("list"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Record<'de>, E> {
        Ok(shapeless("bool"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Record<'de>, E> {
        Ok(shapeless("int"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Record<'de>, E> {
        Ok(shapeless("int"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Record<'de>, E> {
        Ok(shapeless("float"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Record<'de>, E> {
        Ok(shapeless("str"))
    }

    fn visit_unit<E>(self) -> Result<Record<'de>, E> {
        Ok(shapeless("null"))
    }
}

fn shapeless(shape: &'static str) -> Record<'static> {
    Record { shape, fields: Vec::new() }
}

/// A key that borrows where it can.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The intact records of one line. A line should be exactly one; everything else is told to `damaged`.
pub(super) fn records<'a>(line: &'a [u8], mut damaged: impl FnMut(String)) -> Vec<Record<'a>> {
    if let Ok(record) = serde_json::from_slice(line) {
        return vec![record];
    }
    let mut found = Vec::new();
    let mut stream = serde_json::Deserializer::from_slice(line).into_iter::<Record<'a>>();
    let mut intact = 0;
    while let Some(Ok(record)) = stream.next() {
        intact = stream.byte_offset();
        found.push(record);
    }
    let rest = &line[intact..];
    if rest.iter().all(u8::is_ascii_whitespace) {
        damaged(format!("{} records on one line", found.len()));
        return found;
    }
    match rescue(rest) {
        Some((lost, record)) => {
            damaged(format!("{lost} bytes of a torn record before an intact one"));
            found.push(record);
        }
        None => damaged(format!("not JSON from byte {intact} on")),
    }
    found
}

/// An intact record behind a torn one. Inside a string every quote is escaped, so the first place from which the line
/// parses to its end as an object with a type cannot be text of the torn one.
fn rescue(rest: &[u8]) -> Option<(usize, Record<'_>)> {
    let starts = rest.windows(2).enumerate().skip(1).filter(|(_, pair)| *pair == b"{\"").map(|(at, _)| at);
    for at in starts.take(TRIES) {
        if let Ok(record) = serde_json::from_slice::<Record<'_>>(&rest[at..])
            && record.has("type")
        {
            return Some((at, record));
        }
    }
    None
}

/// `YYYY-MM-DDTHH:MM:SS[.fff](Z|±HH:MM)` in milliseconds since 1970 UTC.
pub(super) fn milliseconds(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let separated = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if !separated.iter().all(|(at, byte)| text.as_bytes().get(*at) == Some(byte)) || !(1..=12).contains(&month) {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut millis = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        for place in 0..3 {
            millis = millis * 10
                + fraction.as_bytes().get(place).filter(|_| place < digits).map_or(0, |d| i64::from(d - b'0'));
        }
        rest = &fraction[digits..];
    }
    let offset = match rest.as_bytes() {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let hours: i64 = rest.get(1..3)?.parse().ok()?;
            let minutes: i64 = rest.get(3..)?.trim_start_matches(':').parse().ok()?;
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    // Days from civil, after Howard Hinnant's public-domain derivation.
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = y.div_euclid(400);
    let of_era = y - era * 400;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(line: &str) -> (Vec<String>, Vec<String>) {
        let mut damage = Vec::new();
        let found =
            records(line.as_bytes(), |why| damage.push(why)).iter().map(|r| r.counted_as().to_owned()).collect();
        (found, damage)
    }

    #[test]
    fn a_line_gives_its_intact_records_and_names_its_damage() {
        for (line, found, damage) in [
            (r#"{"type":"user"}"#, &["user"][..], &[][..]),
            (r#"{"a":1}"#, &["-"], &[]),
            ("42", &["int"], &[]),
            ("\"massive error\"", &["str"], &[]),
            ("[1]", &["list"], &[]),
            (r#"{"type":"a"}{"type":"b"}"#, &["a", "b"], &["2 records on one line"]),
            (r#"{"type":"a","x":"half{"type":"b"}"#, &["b"], &["21 bytes of a torn record before an intact one"]),
            (r#"{"type":"a"}{"type":"b","#, &["a"], &["not JSON from byte 12 on"]),
            (r#"{"type":"a","out":"{\"type\":\"b\"}"#, &[], &["not JSON from byte 0 on"]),
            ("# a comment", &[], &["not JSON from byte 0 on"]),
        ] {
            let (kinds, named) = kinds(line);
            assert_eq!((kinds, named), (strings(found), strings(damage)), "{line}");
        }
        assert!(records(b"{\"type\":\"\xff\"}", |_| {}).is_empty());
    }

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn times_are_read_with_fractions_and_offsets() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-30T19:30:17.533Z", Some(1_796_067_017_533)),
            ("2026-11-30T20:30:17.5+01:00", Some(1_796_067_017_500)),
            ("2000-02-29T12:00:00.123456", Some(951_825_600_123)),
            ("2026-13-01T00:00:00Z", None),
            ("yesterday", None),
            ("2026-11-30", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
