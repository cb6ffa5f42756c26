//! What secrets look like. One table: a name, an expression whose first group is the secret, and a second look.

use regex::bytes::{Regex, RegexSet};
use std::sync::LazyLock;

/// One shape of secret.
pub(super) struct Shape {
    /// Its public name.
    pub(super) name: &'static str,
    /// Finds it; group 1 is the secret itself.
    pub(super) program: Regex,
    /// What an expression cannot say.
    pub(super) is_secret: fn(&[u8]) -> bool,
}

/// What may stand before a token: anything that is not part of a word, or the end of a terminal colour.
const EDGE: &str = r"(?:^|[^A-Za-z0-9]|\x1b\[[0-9;]*m)";

/// Name, expression (with [`EDGE`] in front if it starts with `~`), second look.
type Row = (&'static str, &'static str, fn(&[u8]) -> bool);

const TABLE: &[Row] = &[
    ("aws-access-key-id", r"~((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Za-z0-9]|$)", any),
    (
        "aws-secret-access-key",
        r#"(?i:aws_?)?(?i:secret_?access_?key|aws_?secret_?key)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#,
        any,
    ),
    ("github-token", r"(gh[pousr]_[A-Za-z0-9]{30,255})", any),
    ("github-token", r"(github_pat_[A-Za-z0-9_]{22,255})", any),
    ("gitlab-token", r"~(gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{20,255})", any),
    ("slack-token", r"(xox[abeoprs]-[A-Za-z0-9-]{10,255})", any),
    ("slack-token", r"~(xapp-[0-9]-[A-Za-z0-9-]{20,255})", any),
    ("slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,255})", any),
    (
        "discord-webhook",
        r"https://(?:[a-z]{1,10}\.)?discord(?:app)?\.com/api/webhooks/([0-9]{10,25}/[A-Za-z0-9_-]{40,100})",
        any,
    ),
    ("stripe-key", r"~((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255})", any),
    ("stripe-webhook-secret", r"~(whsec_[A-Za-z0-9+/=]{24,255})", any),
    ("anthropic-key", r"~(sk-ant-[A-Za-z0-9_-]{20,255})", any),
    ("openai-key", r"~(sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,255})", any),
    ("openrouter-key", r"~(sk-or-v1-[0-9a-f]{64})", any),
    ("openai-key", r"~(sk-[A-Za-z0-9]{20,255})", mixed),
    ("google-api-key", r"~(AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)", any),
    ("google-oauth", r"~(ya29\.[A-Za-z0-9_-]{20,2000})", any),
    ("google-oauth", r"~(GOCSPX-[A-Za-z0-9_-]{20,255})", any),
    ("npm-token", r"~(npm_[A-Za-z0-9]{36,255})", any),
    ("npm-token", r"_authToken[ \t]*=[ \t]*([A-Za-z0-9_./+=-]{20,255})", any),
    ("pypi-token", r"~(pypi-A[A-Za-z0-9_-]{32,2000})", any),
    ("huggingface-token", r"~(hf_[A-Za-z0-9]{30,255})", any),
    ("sendgrid-key", r"~(SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128})", any),
    ("twilio-key", r"~(SK[0-9a-f]{32})(?:[^A-Za-z0-9]|$)", any),
    ("azure-storage-key", r"(?i:AccountKey)[ \t]*=[ \t]*([A-Za-z0-9+/]{60,100}={0,2})", any),
    ("digitalocean-token", r"~(do[por]_v1_[0-9a-f]{64})", any),
    ("shopify-token", r"~(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})", any),
    ("databricks-token", r"~(dapi[0-9a-f]{32})", any),
    ("linear-key", r"~(lin_(?:api|oauth)_[A-Za-z0-9]{32,255})", any),
    ("docker-token", r"~(dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,255})", any),
    ("crates-io-token", r"~(cio[A-Za-z0-9]{32})(?:[^A-Za-z0-9]|$)", mixed),
    ("vault-token", r"~(hv[sbr]\.[A-Za-z0-9_-]{24,512})", any),
    ("age-key", r"(AGE-SECRET-KEY-1[0-9A-Z]{58})", any),
    ("telegram-token", r"~([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)", any),
    ("groq-key", r"~(gsk_[A-Za-z0-9]{40,255})", any),
    ("xai-key", r"~(xai-[A-Za-z0-9]{60,255})", any),
    ("gitlab-token", r"~(GR1348941[A-Za-z0-9_-]{20,64})", any),
    ("bitbucket-token", r"~(ATBB[A-Za-z0-9]{28,64})(?:[^A-Za-z0-9]|$)", mixed),
    ("atlassian-token", r"~(AT[AC]TT3[A-Za-z0-9_=-]{60,400})", any),
    ("aws-bedrock-key", r"~(ABSK[A-Za-z0-9+/]{60,400}={0,2})", mixed),
    ("aws-session-token", r#"(?i:aws_?session_?token)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9/+=]{80,2000})"#, any),
    ("google-oauth", r"~(1//0[A-Za-z0-9_-]{40,255})", mixed),
    ("azure-client-secret", r"~([A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)", mixed),
    ("azure-signature", r"[?&]sig=([A-Za-z0-9%/+]{40,80}(?:%3[Dd]|=))", any),
    ("azure-devops-token", r"~([A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})(?:[^A-Za-z0-9]|$)", any),
    ("sentry-token", r"~(sntry[su]_[A-Za-z0-9_=/+.-]{32,400})", any),
    ("notion-token", r"~(ntn_[A-Za-z0-9]{40,64})", any),
    ("figma-token", r"~(figd_[A-Za-z0-9_-]{36,64})", any),
    ("postman-key", r"~(PMAK-[0-9a-f]{24}-[0-9a-f]{34})", any),
    ("grafana-token", r"~(glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})", any),
    ("grafana-token", r"~(glc_[A-Za-z0-9+/]{32,400}={0,2})", any),
    ("pulumi-token", r"~(pul-[0-9a-f]{40})(?:[^0-9a-f]|$)", any),
    ("doppler-token", r"~(dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,128})", any),
    ("airtable-token", r"~(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})", any),
    (
        "discord-token",
        r"~([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?:[^A-Za-z0-9_-]|$)",
        mixed,
    ),
    ("perplexity-key", r"~(pplx-[A-Za-z0-9]{40,64})", any),
    ("replicate-token", r"~(r8_[A-Za-z0-9]{37})(?:[^A-Za-z0-9]|$)", any),
    ("nvidia-key", r"~(nvapi-[A-Za-z0-9_-]{60,80})", any),
    ("together-key", r"~(tgp_v1_[A-Za-z0-9_-]{40,64})", any),
    ("cerebras-key", r"~(csk-[a-z0-9]{40,64})", mixed),
    ("langsmith-key", r"~(lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})", any),
    ("langfuse-key", r"~(sk-lf-[0-9a-f-]{36})", any),
    ("tavily-key", r"~(tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,64})", mixed),
    ("elevenlabs-key", r"~(sk_[0-9a-f]{48})(?:[^0-9a-f]|$)", any),
    ("netlify-token", r"~(nfp_[A-Za-z0-9]{36,64})", any),
    ("supabase-key", r"~(sbp_[0-9a-f]{40})", any),
    ("supabase-key", r"~(sb_secret_[A-Za-z0-9_-]{24,64})", any),
    ("planetscale-token", r"~(pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,64})", any),
    ("fly-token", r"~(fm[12]_[A-Za-z0-9+/=_-]{80,2000})", any),
    ("heroku-key", r"~(HRKU-AA[A-Za-z0-9_-]{50,64})", any),
    ("circleci-token", r"~(CCIPAT_[A-Za-z0-9]{16,40}_[0-9a-f]{40})", any),
    ("buildkite-token", r"~(bk(?:ua|at)_[A-Za-z0-9]{32,64})", any),
    ("terraform-token", r"~([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80})", any),
    ("rubygems-key", r"~(rubygems_[0-9a-f]{48})", any),
    ("nuget-key", r"~(oy2[a-z0-9]{43})(?:[^a-z0-9]|$)", mixed),
    ("newrelic-key", r"~(NRAK-[A-Z0-9]{27})(?:[^A-Z0-9]|$)", any),
    ("1password-token", r"~(ops_eyJ[A-Za-z0-9_=-]{80,2000})", any),
    ("square-token", r"~(sq0(?:atp|csp)-[A-Za-z0-9_-]{22,64})", any),
    ("mailchimp-key", r"~([0-9a-f]{32}-us[0-9]{1,2})(?:[^0-9A-Za-z]|$)", any),
    ("contentful-token", r"~(CFPAT-[A-Za-z0-9_-]{43})", any),
    ("age-key", r"~(AGE-SECRET-KEY-PQ-1[0-9A-Z]{58,4000})", any),
    ("tailscale-key", r"~(tskey-[a-z]{2,20}-[A-Za-z0-9-]{16,255})", any),
    ("jwt", r"~(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})", any),
    (
        "private-key",
        r#"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----((?:\\[rn]|[\s"'A-Za-z0-9+/=:,. _-])*?)-----END "#,
        key_body,
    ),
    (
        "private-key",
        r#"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----((?:(?:\\[rn]|[\s"'+-])*[A-Za-z0-9+/=]{20,})+)"#,
        key_body,
    ),
    // The rest of a key whose beginning was left out.
    (
        "private-key",
        r#"((?:[A-Za-z0-9+/=]{20,}(?:\\[rn]|[\s"'+-])+)+)[A-Za-z0-9+/=]{0,76}(?:\\[rn]|[\s"'+-])*-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY"#,
        key_body,
    ),
    ("private-key", r"Private-Lines:[ \t]*[0-9]+((?:[\s+-]+[A-Za-z0-9+/=]{20,})+)", key_body),
    (
        "authorization",
        r#"(?i:authorization)["']?[ \t]*[:=][ \t]*["']?(?i:bearer|basic|token)[ \t]+([A-Za-z0-9._~+/=-]{16,2000})"#,
        mixed,
    ),
    (
        "api-key-header",
        r#"(?i:x-api-key|x-goog-api-key|api-key|x-auth-token)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9._~+/=-]{20,2000})"#,
        mixed,
    ),
    ("url-token", r"~https?://([A-Za-z0-9_.-]{20,255})@[A-Za-z0-9\[]", mixed),
    (
        "url-password",
        r#"~(?i:[a-z][a-z0-9+.-]{1,20})://[^\s:/@"'<>`\[\]]{0,100}:([^\s@/"'<>`]{3,200})@[A-Za-z0-9\[]"#,
        password,
    ),
];

/// The shapes that are looked for everywhere.
pub(super) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| TABLE.iter().map(compile).collect());

/// All of [`SHAPES`] at once, to see which can occur at all. Indexes are those of [`SHAPES`].
#[expect(clippy::expect_used, reason = "the table is constant and a test compiles it")]
pub(super) static SHAPE_SET: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(SHAPES.iter().map(|s| s.program.as_str())).expect("the table compiles"));

/// Looked for in files of environment variables only: elsewhere, names and values of this form are ordinary code.
pub(super) static ENV_ASSIGNMENT: LazyLock<Shape> = LazyLock::new(|| {
    compile(&(
        "env-assignment",
        r#"(?m)^[ \t]*(?:export[ \t]+)?[A-Za-z0-9_]*(?i:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIALS?)[A-Za-z0-9_]*[ \t]*=[ \t]*["']?([^\s"'#]{8,500})"#,
        unguessable,
    ))
});

#[expect(clippy::expect_used, reason = "the table is constant and a test compiles it")]
fn compile((name, expression, is_secret): &Row) -> Shape {
    let source = match expression.strip_prefix('~') {
        Some(rest) => format!("(?-u){EDGE}{rest}"),
        None => format!("(?-u){expression}"),
    };
    Shape { name, program: Regex::new(&source).expect("the table compiles"), is_secret: *is_secret }
}

fn any(_: &[u8]) -> bool {
    true
}

/// Letters and digits both: words alone are not keys.
fn mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic) && entropy(value) >= 3.0
}

/// A key's body holds at least a few characters of base64; the two marker lines in a parser's source do not.
fn key_body(value: &[u8]) -> bool {
    value.iter().filter(|b| b.is_ascii_alphanumeric() || **b == b'/').count() >= 16
}

/// Random-looking, and no identifier or path.
fn unguessable(value: &[u8]) -> bool {
    value.len() >= 12 && mixed(value) && !is_plain_hex(value)
}

/// Passwords that everybody uses for a development server are no secrets.
fn password(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let known: &[&[u8]] = &[
        b"password",
        b"passwd",
        b"pass",
        b"postgres",
        b"root",
        b"admin",
        b"user",
        b"secret",
        b"test",
        b"testing",
        b"example",
        b"changeme",
        b"guest",
        b"mysql",
        b"dev",
        b"development",
        b"local",
        b"localhost",
        b"pwd",
        b"token",
        b"xxx",
        b"redacted",
    ];
    !known.contains(&&lower[..])
}

/// Never a secret: a place for one (`${NAME}`, `<password>`, `****`), an object id or digest, a UUID.
pub(super) fn is_harmless(value: &[u8]) -> bool {
    let first = value.first().copied().unwrap_or_default();
    let repeated = value.iter().all(|b| *b == first);
    matches!(first, b'$' | b'{' | b'<' | b'%' | b'*') || repeated || is_plain_hex(value) || is_uuid(value)
}

/// An example that its vendor publishes: masked like any other, but no reason to refuse a file.
pub(super) fn is_example(value: &[u8]) -> bool {
    let published = value.ends_with(b"EXAMPLE") || value.ends_with(b"EXAMPLEKEY");
    // The token on the front page of jwt.io: `{"sub":"1234567890","name":"John Doe",…`.
    published || value.windows(20).any(|part| part == b"eyJzdWIiOiIxMjM0NTY3")
}

fn is_plain_hex(value: &[u8]) -> bool {
    matches!(value.len(), 32 | 40 | 64) && value.iter().all(u8::is_ascii_hexdigit)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(
            |(at, b)| {
                if matches!(at, 8 | 13 | 18 | 23) { *b == b'-' } else { b.is_ascii_hexdigit() }
            },
        )
}

/// Shannon entropy in bits a byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}
