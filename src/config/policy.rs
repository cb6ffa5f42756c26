//! The policy of a judgement: everything in the settings that shapes its outcome, and the prompt. A note names its digest,
//! and the merge gate compares it with that of its own base.

use super::Settings;
use crate::host::digest::digest;
use serde_json::Value;

/// Settings that decide who is asked, how long, at what price, and what the gate makes of it: not what is asked.
const APART: [&str; 5] = ["verifier", "agents", "gate", "limits", "budget"];

/// SHA-256 of the settings that shape a judgement by this verifier, and of its prompt. Of the programs under `verifiers` only
/// the one that judges counts.
pub fn policy_digest(settings: &Settings, verifier: &str, prompt: &str) -> String {
    let mut value = serde_json::to_value(settings).unwrap_or(Value::Null);
    if let Some(map) = value.as_object_mut() {
        for key in APART {
            map.shift_remove(key);
        }
        if let Some(programs) = map.get_mut("verifiers").and_then(Value::as_object_mut) {
            programs.retain(|name, _| name == verifier);
        }
    }
    digest(format!("{value}\n{}", digest(prompt.as_bytes())).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, settle};

    fn policy(yaml: &str, verifier: &str) -> String {
        let layer = Layer { name: "test".into(), bytes: yaml.as_bytes().to_vec() };
        policy_digest(&settle(&[layer]).unwrap(), verifier, "judge")
    }

    #[test]
    fn the_policy_is_what_shapes_a_judgement_and_not_who_makes_it() {
        let plain = policy("{}", "mechanical");
        for same in [
            "verifier: x\nverifiers: {x: {command: [a]}}",
            "gate: {skip: true}",
            "limits: {tests-seconds: 5}",
            "agents: {worker: claude}",
        ] {
            assert_eq!(policy(same, "mechanical"), plain, "{same}");
        }
        for other in ["tests: {command: 'true'}", "skip: {allowed: false}", "sandbox: {require: none}"] {
            assert_ne!(policy(other, "mechanical"), plain, "{other}");
        }
        let [a, b] = ["a", "b"].map(|program| policy(&format!("verifiers: {{x: {{command: [{program}]}}}}"), "x"));
        assert_ne!(a, b);
        assert_ne!(policy_digest(&Settings::default(), "mechanical", "another"), plain);
    }
}
