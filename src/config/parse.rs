//! The one place that parses YAML, guarded: bounded size, byte order mark, one document, no duplicate or unknown key.

use super::Settings;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_yaml::{Mapping, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A settings file larger than this is refused.
const LARGEST: usize = 1 << 20;

/// Why settings could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// Larger than a settings file can be.
    #[error("{source_name} has {bytes} bytes; a settings file has at most {LARGEST}")]
    TooLarge {
        /// Where it was read.
        source_name: String,
        /// Its size.
        bytes: usize,
    },
    /// Something else than a file.
    #[error("{source_name} is {what}, and settings are read from a regular file alone; put the file itself there")]
    NoFile {
        /// Where it was to be read.
        source_name: String,
        /// What is there.
        what: &'static str,
    },
    /// Not UTF-8.
    #[error("{source_name} is not UTF-8 (first bad byte at {at}); save it as UTF-8")]
    Encoding {
        /// Where it was read.
        source_name: String,
        /// Offset of the first bad byte.
        at: usize,
    },
    /// A text that is no settings file: not YAML, or not what it should hold.
    #[error("{source_name} cannot be read: {why}")]
    NotYaml {
        /// Where it was read.
        source_name: String,
        /// The parser's words, with line and column.
        why: String,
    },
    /// Not YAML, or not these settings.
    #[error("{source_name} is not a settings file: {why}")]
    Malformed {
        /// Where it was read.
        source_name: String,
        /// The parser's words, with line and column.
        why: String,
    },
}

/// One source of settings.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Names it in errors and receipts, e.g. `base:.agentheim/countersign.yaml`.
    pub name: String,
    /// Its YAML.
    pub bytes: Vec<u8>,
}

/// Settles settings from layers, least specific first: keys merge, values and lists are replaced. An empty layer sets
/// nothing.
///
/// # Errors
/// A layer that is too large, not UTF-8, not YAML, or has an unknown or duplicate key.
pub fn settle(layers: &[Layer]) -> Result<Settings, SettingsError> {
    let mut settled = Value::Mapping(Mapping::new());
    for layer in layers {
        let malformed =
            |why: serde_yaml::Error| SettingsError::Malformed { source_name: layer.name.clone(), why: why.to_string() };
        let Some(text) = guarded(layer)? else { continue };
        // Each layer must stand on its own, so that an error names the file it is in.
        serde_yaml::from_str::<Settings>(text).map_err(malformed)?;
        merge(&mut settled, serde_yaml::from_str(text).map_err(malformed)?);
    }
    serde_yaml::from_value(settled).map_err(|why| SettingsError::Malformed {
        source_name: "the settled settings".to_owned(),
        why: why.to_string(),
    })
}

/// Reads another YAML text under the same guards; `None` if it says nothing.
///
/// # Errors
/// As [`settle`], for one layer.
pub fn read_yaml<T: DeserializeOwned>(layer: &Layer) -> Result<Option<T>, SettingsError> {
    let Some(text) = guarded(layer)? else { return Ok(None) };
    let malformed =
        |why: serde_yaml::Error| SettingsError::NotYaml { source_name: layer.name.clone(), why: why.to_string() };
    serde_yaml::from_str(text).map(Some).map_err(malformed)
}

/// The layer's text, or `None` if it says nothing.
fn guarded(layer: &Layer) -> Result<Option<&str>, SettingsError> {
    let source_name = || layer.name.clone();
    if layer.bytes.len() > LARGEST {
        return Err(SettingsError::TooLarge { source_name: source_name(), bytes: layer.bytes.len() });
    }
    let bytes = layer.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&layer.bytes);
    let text = std::str::from_utf8(bytes)
        .map_err(|why| SettingsError::Encoding { source_name: source_name(), at: why.valid_up_to() })?;
    let silent = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    Ok(if silent { None } else { Some(text) })
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Mapping(into), Value::Mapping(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// A map whose keys may not repeat: `serde_yaml` lets the last one win, silently.
pub(super) fn unique_map<'de, D: Deserializer<'de>, V: DeserializeOwned>(
    from: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    struct Unique<V>(PhantomData<V>);
    impl<'de, V: DeserializeOwned> Visitor<'de> for Unique<V> {
        type Value = BTreeMap<String, V>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = BTreeMap::new();
            while let Some(key) = map.next_key::<String>()? {
                if found.contains_key(&key) {
                    return Err(A::Error::custom(format!("duplicate key `{key}`")));
                }
                let value = map.next_value()?;
                found.insert(key, value);
            }
            Ok(found)
        }
    }
    from.deserialize_map(Unique(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<Settings, SettingsError> {
        settle(&[Layer { name: "x".to_owned(), bytes: bytes.to_vec() }])
    }

    #[test]
    fn settings_are_read_with_bom_and_crlf() {
        let read = parse(b"\xef\xbb\xbftests:\r\n  command: npm test\r\n").unwrap();
        assert_eq!(read.tests.command.as_deref(), Some("npm test"));
        assert_eq!(parse(b"# nothing\n\n").unwrap(), Settings::default());
    }

    #[test]
    fn a_typing_error_never_loosens_a_gate() {
        for (bad, word) in [
            (&b"test:\n  command: x\n"[..], "test"),
            (b"tests:\n  command: x\n  command: y\n", "duplicate"),
            (b"verifiers:\n  a: {command: [x]}\n  a: {command: [y]}\n", "duplicate"),
            (b"skip: {allowed: yes please}\n", "allowed"),
            (b"a: 1\n---\nb: 2\n", "unknown field"),
            (b"verifier: a\n---\nverifier: b\n", "document"),
            (b"- list\n", "x is not a settings file"),
        ] {
            let why = parse(bad).unwrap_err().to_string();
            assert!(why.contains(word), "{why}");
        }
        assert!(matches!(parse(b"a: \xff\n"), Err(SettingsError::Encoding { at: 3, .. })));
        assert!(matches!(parse(&vec![b'#'; LARGEST + 1]), Err(SettingsError::TooLarge { .. })));
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let mut bomb = String::from("a0: &a0 [x]\n");
        for level in 1..12 {
            let item = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [item.as_str(); 9].join(", ")));
        }
        assert!(parse(bomb.as_bytes()).is_err());
    }

    #[test]
    fn the_more_specific_layer_wins_key_by_key() {
        let layer = |name: &str, text: &str| Layer { name: name.to_owned(), bytes: text.into() };
        let settled = settle(&[
            layer("project", "tests: {command: a}\nverifier: judge\nlimits: {tests-seconds: 5}\n"),
            layer("user", "verifier: mine\nlimits: {setup-seconds: 6}\n"),
        ])
        .unwrap();
        assert_eq!(settled.verifier.as_deref(), Some("mine"));
        assert_eq!(settled.tests.command.as_deref(), Some("a"));
        assert_eq!((settled.limits.tests_seconds, settled.limits.setup_seconds), (5, 6));
    }
}
