//! Allowed signers in OpenSSH's format: who may sign, with which key, for what and until when.

use super::sshsig;
use crate::host::signing::NAMESPACE;
use base64ct::{Base64, Encoding};
use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::DecodePublicKey;

/// A longer file is not read.
const LARGEST: usize = 1 << 20;

/// Stands for a quote while a line is taken apart; a line that holds it is not read.
const QUOTE: char = '\u{1}';

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signer {
    pub(super) principals: Vec<String>,
    /// None: any.
    pub(super) namespaces: Option<Vec<String>>,
    pub(super) key: Vec<u8>,
    /// `ssh-ed25519 AAAA…`, for the program.
    pub(super) words: String,
    pub(super) after: Option<u64>,
    pub(super) before: Option<u64>,
}

impl Signer {
    /// True if it may sign for us.
    pub(super) fn is_ours(&self) -> bool {
        self.namespaces.as_ref().is_none_or(|names| names.iter().any(|name| name == NAMESPACE))
    }

    /// True if it is named for us: a bare Ed25519 signature carries no namespace of its own.
    pub(super) fn is_ours_by_name(&self) -> bool {
        self.namespaces.is_some() && self.is_ours()
    }

    /// The name it is known by.
    pub(super) fn principal(&self) -> &str {
        self.principals.first().map_or("", String::as_str)
    }
}

/// Whose signatures count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedSigners {
    pub(super) signers: Vec<Signer>,
    /// The numbers of lines that cannot be read, or name a certificate authority: they allow nobody.
    pub unread: Vec<usize>,
}

impl AllowedSigners {
    /// Reads a file of allowed signers. A line that cannot be read allows nobody.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        if bytes.len() > LARGEST {
            found.unread.push(1);
            return found;
        }
        let text = String::from_utf8_lossy(bytes);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match signer(line) {
                Some(signer) => found.signers.push(signer),
                None => found.unread.push(number + 1),
            }
        }
        found
    }

    /// True if nobody may sign.
    pub fn is_empty(&self) -> bool {
        self.signers.is_empty()
    }
}

/// The signers that a key's own file allows: a public key as OpenSSH writes it, a PEM of one, or a file of allowed signers.
/// None if it is nothing of these.
pub fn key_file(bytes: &[u8]) -> Option<AllowedSigners> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let by_hand = |key: Vec<u8>, words: String| AllowedSigners {
        signers: vec![Signer {
            principals: vec!["the key given by hand".to_owned()],
            namespaces: Some(vec![NAMESPACE.to_owned()]),
            key,
            words,
            after: None,
            before: None,
        }],
        unread: Vec::new(),
    };
    if text.starts_with("-----BEGIN PUBLIC KEY-----") {
        let key = VerifyingKey::from_public_key_pem(text).ok()?;
        let blob = sshsig::ed25519_blob(&key.to_bytes());
        let words = format!("ssh-ed25519 {}", Base64::encode_string(&blob));
        return Some(by_hand(blob, words));
    }
    if let Some((key, words)) = key_of(text.split_ascii_whitespace()) {
        return Some(by_hand(key, words));
    }
    let signers = AllowedSigners::parse(bytes);
    (!signers.is_empty()).then_some(signers)
}

/// The key that these words are: its kind and its base64.
fn key_of<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<(Vec<u8>, String)> {
    let (kind, text) = (words.next()?, words.next()?);
    let blob = Base64::decode_vec(text).ok()?;
    // A key says its own kind first.
    let named = blob.get(4..4 + kind.len()) == Some(kind.as_bytes());
    named.then(|| (blob, format!("{kind} {text}")))
}

fn signer(line: &str) -> Option<Signer> {
    let words = words(line)?;
    let (principals, rest) = words.split_first()?;
    let principals: Vec<String> =
        split(principals).iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    let is_key = |word: &str| ["ssh-", "ecdsa-", "sk-"].iter().any(|kind| word.starts_with(kind));
    let (options, rest) = match rest.first() {
        Some(word) if !is_key(word) => (word.as_str(), &rest[1..]),
        _ => ("", rest),
    };
    let (key, words) = key_of(rest.iter().map(String::as_str))?;
    let mut signer = Signer { principals, namespaces: None, key, words, after: None, before: None };
    for option in split(options) {
        let (name, value) = option.split_once('=').unwrap_or((option.as_str(), ""));
        match name.to_ascii_lowercase().as_str() {
            "namespaces" => signer.namespaces = Some(value.split(',').map(|name| name.trim().to_owned()).collect()),
            "valid-after" => signer.after = Some(seconds(value)?),
            "valid-before" => signer.before = Some(seconds(value)?),
            "" => {}
            // `cert-authority`, and whatever is invented later, may narrow what a key is good for.
            _ => return None,
        }
    }
    (!signer.principals.is_empty()).then_some(signer)
}

/// Words between blanks; quotes keep blanks together and become [`QUOTE`].
fn words(line: &str) -> Option<Vec<String>> {
    if line.contains(QUOTE) {
        return None;
    }
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                any = true;
                word.push(QUOTE);
            }
            c if c.is_ascii_whitespace() && !quoted => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    (!quoted).then_some(words)
}

/// Options apart: at commas outside quotes.
fn split(options: &str) -> Vec<String> {
    let (mut parts, mut part, mut quoted) = (Vec::new(), String::new(), false);
    for c in options.chars() {
        match c {
            QUOTE => quoted = !quoted,
            ',' if !quoted => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts
}

/// `YYYYMMDD`, `YYYYMMDDHHMM` or `YYYYMMDDHHMMSS`, with or without `Z`, as seconds since 1970 in UTC.
fn seconds(text: &str) -> Option<u64> {
    let digits = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if !matches!(digits.len(), 8 | 12 | 14) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| digits.get(from..to).map_or(Some(0), |text| text.parse::<u64>().ok());
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Civil date to days, the inverse of what the clock prints.
    let y = if month <= 2 { year - 1 } else { year };
    let (era, yoe) = (y / 400, y % 400);
    let mp = (month + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day - 1;
    let days = era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468;
    let second = if digits.len() == 14 { part(12, 14)? } else { 0 };
    let (hour, minute) = if digits.len() > 8 { (part(8, 10)?, part(10, 12)?) } else { (0, 0) };
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::clock::Timestamp;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    #[test]
    fn a_line_says_who_for_what_and_until_when() {
        let file = format!(
            "# team\n\ndev@example.org,d@example.org {KEY} laptop\n\
             \"ci bot\" namespaces=\"countersign,git\",valid-before=\"20270101\" {KEY}\n\
             x@example.org cert-authority {KEY}\nbroken\ny@example.org namespaces=\"file\" {KEY}\n"
        );
        let signers = AllowedSigners::parse(file.as_bytes());
        assert_eq!(signers.unread, [5, 6]);
        let [dev, ci, file] = &signers.signers[..] else { panic!("{signers:#?}") };
        assert_eq!(
            (dev.principals.len(), dev.principal(), dev.is_ours(), dev.is_ours_by_name()),
            (2, "dev@example.org", true, false)
        );
        assert_eq!((ci.principal(), ci.is_ours_by_name(), file.is_ours()), ("ci bot", true, false));
        assert_eq!(Timestamp(ci.before.unwrap()).to_utc(), "2027-01-01 00:00:00Z");
        assert_eq!(dev.key, ci.key);
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_the_reader_panic_or_allows_a_key_that_is_none(line in ".{0,120}") {
            let signers = AllowedSigners::parse(line.as_bytes());
            proptest::prop_assert!(signers.signers.iter().all(|signer| !signer.key.is_empty()));
            let _ = key_file(line.as_bytes());
        }
    }

    #[test]
    fn times_are_read_as_utc_or_not_at_all() {
        for (text, utc) in [
            ("20261130", "2026-11-30 00:00:00Z"),
            ("202611301207Z", "2026-11-30 12:07:00Z"),
            ("20000229235959", "2000-02-29 23:59:59Z"),
        ] {
            assert_eq!(Timestamp(seconds(text).unwrap()).to_utc(), utc);
        }
        for bad in ["", "2026", "20261301", "abcdefgh", "2026-11-30", "00001130"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_key_can_be_given_in_three_forms() {
        let pem = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
        for good in [KEY.to_owned(), format!("{KEY} me@example.org\n"), format!("me@example.org {KEY}"), pem.to_owned()]
        {
            assert_eq!(key_file(good.as_bytes()).unwrap().signers.len(), 1, "{good}");
        }
        for bad in [
            "",
            "no key",
            "ssh-ed25519 !!!",
            "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
        ] {
            assert_eq!(key_file(bad.as_bytes()), None, "{bad}");
        }
    }
}
