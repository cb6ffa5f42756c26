use super::*;
use proptest::prelude::*;

/// Fakes are put together here, so that this file holds no secret-shaped text itself.
fn fake(prefix: &str, body: &str, length: usize) -> String {
    let body: String = body.chars().cycle().take(length).collect();
    format!("{prefix}{body}")
}

const MIXED: &str = "a8Kd03LmQz7Rt5Xv1Bn9";

fn fakes() -> Vec<(&'static str, String)> {
    let pem = |kind: &str| {
        let body = fake("", MIXED, 64);
        format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}\n{body}\nq9==\n-----END {kind}PRIVATE KEY-----")
    };
    vec![
        ("aws-access-key-id", fake("AKIA", "Q7ZP3XW5", 16)),
        ("aws-access-key-id", fake("ASIA", "Q7ZP3XW5", 16)),
        ("aws-secret-access-key", format!("aws_secret_access_key = {}", fake("", MIXED, 40))),
        ("github-token", fake("ghp_", MIXED, 36)),
        ("github-token", fake("gho_", MIXED, 36)),
        ("github-token", fake("ghs_", MIXED, 36)),
        ("github-token", fake("ghu_", MIXED, 36)),
        ("github-token", fake("github_pat_", MIXED, 82)),
        ("gitlab-token", fake("glpat-", MIXED, 20)),
        ("slack-token", fake("xoxb-", "123456789-abcd", 40)),
        ("slack-webhook", fake("https://hooks.slack.com/services/", "T0AB/B0CD/x9y8z7", 44)),
        ("stripe-key", fake("sk_live_", MIXED, 24)),
        ("stripe-key", fake("rk_live_", MIXED, 24)),
        ("anthropic-key", fake("sk-ant-api03-", MIXED, 90)),
        ("openai-key", fake("sk-proj-", MIXED, 60)),
        ("openai-key", fake("sk-", MIXED, 48)),
        ("google-api-key", fake("AIza", MIXED, 35)),
        ("npm-token", fake("npm_", MIXED, 36)),
        ("pypi-token", fake("pypi-AgEI", MIXED, 100)),
        ("huggingface-token", fake("hf_", MIXED, 34)),
        ("sendgrid-key", format!("{}.{}", fake("SG.", MIXED, 22), fake("", MIXED, 43))),
        ("twilio-key", fake("SK", "0a1b2c3d4e5f6789", 32)),
        ("azure-storage-key", format!("AccountKey={}==", fake("", MIXED, 86))),
        ("jwt", format!("{}.{}.{}", fake("eyJ", MIXED, 20), fake("eyJ", MIXED, 40), fake("", MIXED, 43))),
        ("private-key", pem("RSA ")),
        ("private-key", pem("OPENSSH ")),
        ("private-key", pem("")),
        ("private-key", pem("EC ").replace('\n', "\\n")),
        ("authorization", format!("Authorization: Bearer {}", fake("", MIXED, 30))),
        ("gitlab-token", fake("GR1348941", MIXED, 20)),
        ("bitbucket-token", fake("ATBB", MIXED, 32)),
        ("atlassian-token", fake("ATATT3", MIXED, 180)),
        ("aws-bedrock-key", fake("ABSK", MIXED, 128)),
        ("aws-session-token", format!("aws_session_token = {}", fake("", MIXED, 300))),
        ("google-oauth", fake("1//0", MIXED, 100)),
        ("google-oauth", fake("ya29.", MIXED, 100)),
        ("azure-client-secret", fake("abc8Q~", MIXED, 34)),
        ("azure-signature", format!("?sv=1&sig={}%3D", fake("", MIXED, 43))),
        ("azure-devops-token", format!("{}AZDO{}", fake("", MIXED, 76), fake("", MIXED, 4))),
        ("sentry-token", fake("sntrys_", MIXED, 100)),
        ("notion-token", fake("ntn_", MIXED, 46)),
        ("figma-token", fake("figd_", MIXED, 40)),
        ("grafana-token", format!("{}_0a1b2c3d", fake("glsa_", MIXED, 32))),
        ("pulumi-token", fake("pul-", "0a1b2c3d4e5f6789", 40)),
        ("airtable-token", format!("{}.{}", fake("pat", MIXED, 14), fake("", "0a1b2c3d4e5f6789", 64))),
        ("discord-token", format!("{}.{}.{}", fake("M", MIXED, 25), fake("", MIXED, 6), fake("", MIXED, 38))),
        ("replicate-token", fake("r8_", MIXED, 37)),
        ("nvidia-key", fake("nvapi-", MIXED, 64)),
        ("langfuse-key", "sk-lf-123e4567-e89b-12d3-a456-426614174000".to_owned()),
        ("elevenlabs-key", fake("sk_", "0a1b2c3d4e5f6789", 48)),
        ("supabase-key", fake("sb_secret_", MIXED, 31)),
        ("planetscale-token", fake("pscale_tkn_", MIXED, 43)),
        ("terraform-token", format!("{}.atlasv1.{}", fake("", MIXED, 14), fake("", MIXED, 67))),
        ("rubygems-key", fake("rubygems_", "0a1b2c3d4e5f6789", 48)),
        ("1password-token", fake("ops_eyJ", MIXED, 200)),
        ("mailchimp-key", format!("{}-us12", fake("", "0a1b2c3d4e5f6789", 32))),
        ("api-key-header", format!("x-api-key: {}", fake("", MIXED, 32))),
        ("url-token", format!("https://{}@git.example.org/r.git", fake("", MIXED, 40))),
        ("url-password", format!("postgres://app:{}@db.internal:5432/x", fake("", MIXED, 14))),
        ("url-password", format!("https://bot:{}@example.org/r.git", fake("", MIXED, 14))),
    ]
}

#[test]
fn every_known_shape_is_found_and_its_value_is_gone() {
    for (shape, text) in fakes() {
        for around in
            [text.clone(), format!("x = \"{text}\";\n"), format!("\u{1b}[31m{text}\u{1b}[0m"), format!("+{text}\n")]
        {
            let redacted = redact(around.as_bytes());
            let shapes: Vec<&str> = redacted.found.iter().map(|s| s.shape).collect();
            assert_eq!(shapes, [shape], "{around}");
            let out = String::from_utf8(redacted.bytes).unwrap();
            assert!(out.contains(&format!("[redacted:{shape}:")), "{out}");
            let value = text.rsplit([' ', ':', '=', '\n']).find(|w| w.len() > 12).unwrap_or(&text);
            let value = value.split('@').next().unwrap();
            assert!(!out.contains(value) || value.starts_with('-'), "{out} still holds {value}");
            assert_eq!(redact(out.as_bytes()).bytes, out.as_bytes(), "masking twice is masking once");
        }
    }
}

#[test]
fn sec_redaction_harm_only_the_token_is_masked() {
    let token = fake("ghp_", MIXED, 36);
    let id40 = "0123456789abcdef0123456789abcdef01234567";
    let id64 = fake("", "0a1b2c3d4e5f6789", 64);
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let test = "limits::window_tests::rejects_a_window_of_zero_seconds_even_when_the_configuration_allows_it_v2";
    let lines = format!(
        "commit {id40}\ntree {id40}\nsha256 {id64}\nuuid 123e4567-e89b-12d3-a456-426614174000\ntest {test} ... ok\n\
         png {png}\nTOKEN: 00112233445566778899aabbccddeeff\n{token} VERDICT: PASS\npassword = \"test_rejects_zero\"\n"
    );
    let redacted = redact(lines.as_bytes());
    let short = &digest(token.as_bytes())[..8];
    let expected = lines.replace(&token, &format!("[redacted:github-token:{short}:{}]", token.len()));
    assert_eq!(String::from_utf8(redacted.bytes).unwrap(), expected);
    assert_eq!(redacted.found.len(), 1);
    assert_eq!(redacted.found[0].line, 8);
}

#[test]
fn places_for_secrets_and_well_known_passwords_are_no_secrets() {
    for text in [
        "postgres://user:${DB_PASSWORD}@db/x",
        "postgres://user:<password>@db/x",
        "postgres://postgres:postgres@localhost/x",
        "mysql://root:*****@db/x",
        "-----BEGIN PRIVATE KEY-----\", \"-----END PRIVATE KEY-----",
        "task-learning-something-very-long-indeed",
        "sk-learnissomethingquitelong",
        "Authorization: Bearer <your-token-goes-here>",
        "std::sync::atomic:AtomicBool@x",
    ] {
        assert_eq!(find_secrets(text.as_bytes()), [], "{text}");
        assert_eq!(redact(text.as_bytes()).bytes, text.as_bytes());
    }
}

#[test]
fn a_published_example_is_masked_but_refuses_no_file() {
    let text = format!("key = AKIA{}", "IOSFODNN7EXAMPLE");
    assert_eq!(find_secrets(text.as_bytes()), []);
    assert_eq!(redact(text.as_bytes()).found.len(), 1);
}

#[test]
fn assignments_count_only_in_files_of_environment_variables() {
    let text = format!("PORT=3000\nexport MY_API_KEY=\"{}\"\nSESSION_SECRET=${{FROM_VAULT}}\n", fake("", MIXED, 24));
    let env = RepoPath::from("deploy/.env.production");
    let found = find_secrets_in(&env, text.as_bytes());
    assert_eq!(found.iter().map(|s| (s.shape, s.line)).collect::<Vec<_>>(), [("env-assignment", 2)]);
    assert_eq!(find_secrets_in(&RepoPath::from("src/settings.py"), text.as_bytes()), []);
}

/// The 17 shapes that passed unredacted elsewhere, and what they are here.
#[test]
fn the_seventeen_shapes_are_all_known() {
    let known = fakes();
    for start in [
        "sk-proj-",
        "sk-ant-",
        "github_pat_",
        "ghs_",
        "ghu_",
        "glpat-",
        "npm_",
        "AIza",
        "sk_live_",
        "https://hooks.slack.com/",
        "-----BEGIN ",
        "https://bot:",
        "Authorization: Bearer ",
        "aws_secret_access_key = ",
        "ASIA",
        "hf_",
        "postgres://",
    ] {
        assert!(known.iter().any(|(_, text)| text.starts_with(start)), "{start}");
    }
}

/// A log keeps its start and its end. Wherever the gap falls, no recognisable part of a secret is left at its edges.
#[test]
fn a_secret_across_the_gap_of_a_bounded_log_leaves_no_half_behind() {
    for (shape, text) in fakes() {
        let around = format!("some words before {text} and after it\n");
        let (start, end) = (around.find(&text).unwrap(), around.find(&text).unwrap() + text.len());
        for cut in (start + 1..end).step_by(5) {
            let (head, tail) = (&around[..cut], &around[cut..]);
            let log = format!("first line\n{head}\n[countersign: 7 bytes left out here]\n{tail}last line\n");
            let out = String::from_utf8(redact_log(log.as_bytes()).bytes).unwrap();
            for part in [&around[start..cut], &around[cut..end]] {
                let word = part.split([' ', '\n']).map(str::trim).max_by_key(|word| word.len()).unwrap();
                let own = word.len() >= 20 && !"-----BEGIN OPENSSH PRIVATE KEY-----END".contains(word);
                assert!(!own || !out.contains(word), "{shape}, cut at {}: {word} is left in {out}", cut - start);
            }
            assert!(out.starts_with("first line\n") && out.ends_with("\nlast line\n"), "{out}");
            assert_eq!(redact_log(out.as_bytes()).bytes, out.as_bytes(), "masking twice is masking once");
        }
    }
}

#[test]
fn a_text_is_masked_before_it_is_cut() {
    let secret = fake("ghp_", MIXED, 36);
    for before in 0..100 {
        let text = format!("{} {secret} after", "x".repeat(before));
        let (cut, missing) = redact_and_cut(&text, 60);
        assert!(!cut.contains("ghp_") && missing == (before > 18), "{before}: {cut}");
    }
    assert_eq!(redact_and_cut("short", 60), ("short".to_owned(), false));
}

#[test]
fn a_key_cut_off_in_the_middle_is_masked_as_far_as_it_goes() {
    let body = fake("", MIXED, 64);
    let text = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n");
    let out = String::from_utf8(redact(text.as_bytes()).bytes).unwrap();
    assert!(!out.contains(&body[..20]), "{out}");
    assert!(out.starts_with("-----BEGIN RSA PRIVATE KEY-----\n[redacted:private-key:"), "{out}");
}

proptest! {
    #[test]
    fn any_bytes_are_redacted_once(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let once = redact(&bytes);
        prop_assert_eq!(&redact(&once.bytes).bytes, &once.bytes);
        if once.found.is_empty() {
            prop_assert_eq!(&once.bytes, &bytes);
        }
    }

    #[test]
    fn a_secret_never_survives_whatever_stands_around_it(
        before in "[ -~\n]{0,40}[ \n\"'=:(]", after in "[ \n\"',;)][ -~\n]{0,40}", which in 0..fakes().len(),
    ) {
        let (_, text) = fakes().swap_remove(which);
        // Whatever a neighbour adds, at least the middle of the value must be gone.
        let middle = &text[text.len() / 2 - 4..text.len() / 2 + 6];
        let whole = format!("{before}{text}{after}");
        let out = redact(whole.as_bytes()).bytes;
        let out = String::from_utf8_lossy(&out);
        prop_assert!(!out.contains(middle) || before.contains(middle) || after.contains(middle), "{}", out);
    }
}
