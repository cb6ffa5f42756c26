//! Which further arguments the settings may hand to a program.
//!
//! A program's own table lists those that leave the confinement as it is. What is not in it is refused: nobody can say
//! what an unknown argument loosens.

/// The first argument that is not permitted, if there is one. A rule is `--flag` (alone), `--flag V` (any value), or
/// `-c key*` (a value that begins so).
pub(super) fn first_refused<'a>(rules: &[&str], given: &'a [String]) -> Option<&'a str> {
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        let (flag, joined) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (word.as_str(), None),
        };
        let mut known = rules.iter().map(|rule| rule.split_once(' ').unwrap_or((rule, ""))).filter(|(f, _)| *f == flag);
        let permitted = if rules.contains(&flag) {
            joined.is_none()
        } else {
            // A value that looks like an option could be taken for one.
            let Some(value) = joined.or_else(|| rest.next().map(String::as_str)).filter(|v| !v.starts_with('-')) else {
                return Some(word);
            };
            known.any(|(_, pattern)| match pattern.strip_suffix('*') {
                Some(beginning) => value.starts_with(beginning),
                None => pattern == "V" && !value.is_empty(),
            })
        };
        if !permitted {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_be_harmless_is_refused() {
        let rules = ["--effort V", "--quick", "-c model_provider=*", "-c model_providers.*"];
        for (given, refused) in [
            (&["--effort", "high"][..], None),
            (&["--effort=high", "--quick"], None),
            (&["-c", "model_providers.x={base_url=\"http://127.0.0.1\"}"], None),
            (&[], None),
            (&["--effort"], Some("--effort")),
            (&["--effort", "--dangerously-skip-permissions"], Some("--effort")),
            (&["--effort", ""], Some("--effort")),
            (&["--quick=yes"], Some("--quick=yes")),
            (&["--quick", "word"], Some("word")),
            (&["-c", "sandbox_mode=\"danger-full-access\""], Some("-c")),
            (&["-c", "mcp_servers.x.command=\"sh\""], Some("-c")),
            (&["-c=model_provider=x"], Some("-c=model_provider=x")),
            (&["--dangerously-skip-permissions"], Some("--dangerously-skip-permissions")),
            (&["--Effort", "high"], Some("--Effort")),
            (&["--eff", "high"], Some("--eff")),
        ] {
            let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(first_refused(&rules, &given), refused, "{given:?}");
        }
    }
}
