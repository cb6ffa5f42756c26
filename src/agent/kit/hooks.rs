//! The hook that has an agent's host ask before a turn ends, put into the host's own settings.
//!
//! The settings are a user's: our entry is added, everything else stays as it is, in its order. A file that is not what the
//! host would read is named and left alone.

use super::place::{Found, look, replace, write_new};
use super::{Deed, KitError, Permission, Placed, Standing};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A host's settings file below the project, and its name.
const HOSTS: [(&str, &str); 2] = [(".claude/settings.json", "claude"), (".codex/hooks.json", "codex")];

/// A host's event, and what countersign calls it.
const EVENTS: [(&str, &str); 2] = [("SessionStart", "start"), ("Stop", "stop")];

/// How long a host waits, in seconds. Longer than an answer takes.
const TIMEOUT: u64 = 30;

/// Looks for the hooks in the settings of each host below `folder` and adds them where `permission` allows.
///
/// # Errors
/// Something could not be read or written.
pub fn place_hooks(folder: &Path, permission: Permission) -> Result<Vec<Placed>, KitError> {
    let mut placed = Vec::with_capacity(HOSTS.len());
    for (path, host) in HOSTS {
        let found = look(folder, path)?;
        let missing = matches!(found, Found::Nothing);
        let (standing, text) = match found {
            Found::Nothing => (Standing::Missing, with_hooks(Value::Object(Map::new()), host)),
            Found::Blocked(why) => (Standing::Blocked { why }, None),
            Found::TooLarge => (Standing::Blocked { why: format!("{path} is too large to be settings") }, None),
            Found::Text(bytes) => merged(&bytes, host),
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

/// How settings stand, and their text with the hooks if any is to be added.
fn merged(bytes: &[u8], host: &str) -> (Standing, Option<String>) {
    let blocked = |why: &str| (Standing::Blocked { why: why.to_owned() }, None);
    let Ok(settings) = serde_json::from_slice::<Value>(bytes) else {
        return blocked("it is not the JSON that its program reads");
    };
    if EVENTS.iter().all(|(event, word)| has(&settings, event, &command(word, host))) {
        return (Standing::Current, None);
    }
    match with_hooks(settings, host) {
        Some(text) => (Standing::Missing, Some(text)),
        None => blocked("its hooks do not have the form that its program reads"),
    }
}

fn command(word: &str, host: &str) -> String {
    format!("countersign hook {word} --host {host}")
}

/// True if this command, under whatever path, runs at this event.
fn has(settings: &Value, event: &str, command: &str) -> bool {
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    let mut hooks = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    hooks.any(|hook| hook["command"].as_str().is_some_and(|known| known.trim_end().ends_with(command)))
}

/// The settings with the hooks that they lack; nothing if there is no place for them.
fn with_hooks(mut settings: Value, host: &str) -> Option<String> {
    for (event, word) in EVENTS {
        let command = command(word, host);
        if has(&settings, event, &command) {
            continue;
        }
        let hooks = settings.as_object_mut()?.entry("hooks").or_insert_with(|| json!({}));
        let groups = hooks.as_object_mut()?.entry(event).or_insert_with(|| json!([]));
        let hook = json!({ "type": "command", "command": command, "timeout": TIMEOUT });
        groups.as_array_mut()?.push(json!({ "hooks": [hook] }));
    }
    Some(format!("{}\n", serde_json::to_string_pretty(&settings).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(text: &str) -> (Standing, Option<Value>) {
        let (standing, text) = merged(text.as_bytes(), "claude");
        (standing, text.map(|text| serde_json::from_str(&text).unwrap()))
    }

    #[test]
    fn settings_keep_everything_and_gain_one_hook_for_each_event() {
        let theirs = r#"{"model":"x","hooks":{"PreToolUse":[1],"Stop":[{"matcher":"","hooks":[{"type":"command","command":"bell"}]}]},"zz":1}"#;
        let (found, merged) = standing(theirs);
        let merged = merged.unwrap();
        assert_eq!(found, Standing::Missing);
        assert_eq!(merged["hooks"]["Stop"][0]["hooks"][0]["command"], "bell");
        assert_eq!(merged["hooks"]["Stop"][1]["hooks"][0]["command"], "countersign hook stop --host claude");
        assert_eq!(merged["hooks"]["SessionStart"][0]["hooks"][0]["command"], "countersign hook start --host claude");
        assert_eq!(merged["hooks"]["PreToolUse"], json!([1]));
        assert_eq!(merged.as_object().unwrap().keys().collect::<Vec<_>>(), ["model", "hooks", "zz"]);
        assert_eq!(standing(&merged.to_string()), (Standing::Current, None));
    }

    #[test]
    fn our_hook_under_another_path_is_ours_and_settings_of_another_form_are_left_alone() {
        let elsewhere = r#"{"hooks":{"SessionStart":[{"hooks":[{"command":"/opt/bin/countersign hook start --host claude"}]}],"Stop":[{"hooks":[{"command":"/opt/bin/countersign hook stop --host claude"}]}]}}"#;
        assert_eq!(standing(elsewhere), (Standing::Current, None));
        // An earlier version's settings gain what they lack and nothing twice.
        let earlier = r#"{"hooks":{"Stop":[{"hooks":[{"command":"countersign hook stop --host claude"}]}]}}"#;
        let merged = standing(earlier).1.unwrap();
        assert_eq!(merged["hooks"]["Stop"].as_array().unwrap().len(), 1);
        assert_eq!(merged["hooks"]["SessionStart"].as_array().unwrap().len(), 1);
        for odd in ["{", "[]", "{\"hooks\":[]}", "{\"hooks\":{\"Stop\":{}}}", "// words\n{}"] {
            assert!(matches!(standing(odd), (Standing::Blocked { .. }, None)), "{odd}");
        }
        let other_host = r#"{"hooks":{"Stop":[{"hooks":[{"command":"countersign hook stop --host codex"}]}]}}"#;
        assert_eq!(standing(other_host).0, Standing::Missing);
    }
}
