//! The hook that has an agent's host ask before a turn ends, put into the host's own settings.
//!
//! The settings are a user's: our entry is added, everything else stays as it is, in its order. A file that is not what the
//! host would read is named and left alone.

use super::place::{Found, look, replace, write_new};
use super::{Deed, KitError, Permission, Placed, Standing};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A host's settings file below the project, and the command that it is to run.
const HOOKS: [(&str, &str); 2] = [
    (".claude/settings.json", "countersign hook stop --host claude"),
    (".codex/hooks.json", "countersign hook stop --host codex"),
];

/// How long a host waits, in seconds. Longer than an answer takes.
const TIMEOUT: u64 = 30;

/// Looks for the hook in the settings of each host below `folder` and adds it where `permission` allows.
///
/// # Errors
/// Something could not be read or written.
pub fn place_hooks(folder: &Path, permission: Permission) -> Result<Vec<Placed>, KitError> {
    let mut placed = Vec::with_capacity(HOOKS.len());
    for (path, command) in HOOKS {
        let found = look(folder, path)?;
        let missing = matches!(found, Found::Nothing);
        let (standing, text) = match found {
            Found::Nothing => (Standing::Missing, with_hook(Value::Object(Map::new()), command)),
            Found::Blocked(why) => (Standing::Blocked { why }, None),
            Found::TooLarge => (Standing::Blocked { why: format!("{path} is too large to be settings") }, None),
            Found::Text(bytes) => merged(&bytes, command),
        };
        let deed = match (&text, permission) {
            (_, Permission::Look) => Deed::Nothing,
            (None, _) if standing == Standing::Current => Deed::Nothing,
            (None, _) => Deed::LeftAlone,
            (Some(text), _) if missing => {
                write_new(folder, path, text)?;
                Deed::Written
            }
            (Some(text), _) => {
                replace(folder, path, text)?;
                Deed::Written
            }
        };
        placed.push(Placed { path, standing, deed });
    }
    Ok(placed)
}

/// How settings stand, and their text with the hook if it is to be added.
fn merged(bytes: &[u8], command: &str) -> (Standing, Option<String>) {
    let blocked = |why: &str| (Standing::Blocked { why: why.to_owned() }, None);
    let Ok(settings) = serde_json::from_slice::<Value>(bytes) else {
        return blocked("it is not the JSON that its program reads");
    };
    if commands(&settings).any(|known| known.trim_end().ends_with(command)) {
        return (Standing::Current, None);
    }
    match with_hook(settings, command) {
        Some(text) => (Standing::Missing, Some(text)),
        None => blocked("its hooks do not have the form that its program reads"),
    }
}

/// Every command that runs when a turn ends.
fn commands(settings: &Value) -> impl Iterator<Item = &str> {
    let groups = settings.pointer("/hooks/Stop").and_then(Value::as_array).into_iter().flatten();
    let hooks = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    hooks.filter_map(|hook| hook["command"].as_str())
}

/// The settings with one hook more; nothing if there is no place for it.
fn with_hook(mut settings: Value, command: &str) -> Option<String> {
    let hooks = settings.as_object_mut()?.entry("hooks").or_insert_with(|| json!({}));
    let stops = hooks.as_object_mut()?.entry("Stop").or_insert_with(|| json!([]));
    let hook = json!({ "type": "command", "command": command, "timeout": TIMEOUT });
    stops.as_array_mut()?.push(json!({ "hooks": [hook] }));
    Some(format!("{}\n", serde_json::to_string_pretty(&settings).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(text: &str) -> (Standing, Option<Value>) {
        let (standing, text) = merged(text.as_bytes(), "countersign hook stop --host claude");
        (standing, text.map(|text| serde_json::from_str(&text).unwrap()))
    }

    #[test]
    fn settings_keep_everything_and_gain_one_hook() {
        let theirs = r#"{"model":"x","hooks":{"PreToolUse":[1],"Stop":[{"matcher":"","hooks":[{"type":"command","command":"bell"}]}]},"zz":1}"#;
        let (found, merged) = standing(theirs);
        let merged = merged.unwrap();
        assert_eq!(found, Standing::Missing);
        assert_eq!(merged["hooks"]["Stop"][0]["hooks"][0]["command"], "bell");
        assert_eq!(merged["hooks"]["Stop"][1]["hooks"][0]["command"], "countersign hook stop --host claude");
        assert_eq!(merged["hooks"]["PreToolUse"], json!([1]));
        assert_eq!(merged.as_object().unwrap().keys().collect::<Vec<_>>(), ["model", "hooks", "zz"]);
        assert_eq!(standing(&merged.to_string()), (Standing::Current, None));
    }

    #[test]
    fn our_hook_under_another_path_is_ours_and_settings_of_another_form_are_left_alone() {
        let elsewhere =
            r#"{"hooks":{"Stop":[{"hooks":[{"command":"/opt/bin/countersign hook stop --host claude"}]}]}}"#;
        assert_eq!(standing(elsewhere), (Standing::Current, None));
        for odd in ["{", "[]", "{\"hooks\":[]}", "{\"hooks\":{\"Stop\":{}}}", "// words\n{}"] {
            assert!(matches!(standing(odd), (Standing::Blocked { .. }, None)), "{odd}");
        }
        let other_host = r#"{"hooks":{"Stop":[{"hooks":[{"command":"countersign hook stop --host codex"}]}]}}"#;
        assert_eq!(standing(other_host).0, Standing::Missing);
    }
}
