//! `adr-shape` and `related-adrs`.

use super::*;
use State::{Ask, Deny, Info, NotApplicable, Pass};

pub(super) const RECORD: &str = "---\nid: ADR-0007\ntitle: Hinges over rails\nscope: shed\nstatus: accepted\ndate: 2026-01-02\nsupersedes: []\n---\n# ADR-0007: Hinges over rails\n\n## Context\nc\n\n## Decision\nHinges over rails, because they are quiet.\n\n## Consequences\nq\n";
const FOLDER: &str = ".agentheim/knowledge/decisions";

fn at(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

fn with_base() -> Scene {
    Scene::legacy()
        .had(at("0003-old.md").as_str(), "# ADR-0003 — no frontmatter\n\n## Context\nc\n")
        .had(at("0004-gone.md").as_str(), RECORD.replace("0007", "0004").replace("accepted", "superseded"))
        .had(at("README.md").as_str(), "about\n")
}

fn new(name: &str, text: &str) -> Scene {
    with_base().wrote(at(name).as_str(), text)
}

#[test]
fn a_record_that_the_claim_writes_is_one() {
    let carried = |name: &str, text: &str| {
        Scene::board().had(at("0003-old.md").as_str(), "x").reported(&new_report("", &[(name, text)], "[]"))
    };
    hold(
        "adr-shape",
        vec![
            ("no board", Scene::new(), NotApplicable, "no .agentheim/"),
            ("no record", with_base().wrote("src/a.rs", "1"), NotApplicable, "no decision record"),
            (
                "only a README",
                with_base().wrote(at("README.md").as_str(), "more\n"),
                NotApplicable,
                "no decision record",
            ),
            ("a good one", new("0007-hinges.md", RECORD), Pass, ""),
            (
                "a good one, CRLF and BOM",
                new("0007-hinges.md", &format!("\u{feff}{}", RECORD.replace('\n', "\r\n"))),
                Pass,
                "",
            ),
            ("another name", new("7-hinges.md", RECORD), Deny, "NNNN-kebab-slug.md"),
            ("another id", new("0008-hinges.md", RECORD), Deny, "ADR-0008"),
            ("no frontmatter", new("0007-hinges.md", "# ADR-0007\n"), Deny, "frontmatter"),
            (
                "no consequences",
                new("0007-hinges.md", &RECORD.replace("## Consequences\nq\n", "")),
                Deny,
                "Consequences",
            ),
            ("a taken number", new("0003-hinges.md", &RECORD.replace("0007", "0003")), Deny, "0003-old.md"),
            (
                "two with one number",
                new("0007-hinges.md", RECORD).wrote(at("0007-rails.md").as_str(), RECORD),
                Deny,
                "has it, too",
            ),
            (
                "an old one without frontmatter, edited",
                new("0003-old.md", "# ADR-0003 — no frontmatter\n\n## Context\nmore\n"),
                Pass,
                "",
            ),
            ("an old one, spoilt further", new("0003-old.md", "# ADR-0003\n"), Deny, "Context"),
            ("one replaced by a link", with_base().wrote_mode(&at("0003-old.md"), LINK, "/etc/passwd"), Deny, "a link"),
            ("one removed", with_base().removed(&at("0003-old.md")), Ask, "superseded"),
            ("one renamed", with_base().moved(&at("0004-gone.md"), &at("0004-away.md"), |t| t), Ask, "renamed"),
            ("carried", carried("0007-hinges.md", RECORD), Pass, ""),
            (
                "carried, no decision",
                carried("0007-hinges.md", &RECORD.replace("## Decision", "## Choice")),
                Deny,
                "ADRS: 0007-hinges.md",
            ),
            ("carried, taken number", carried("0003-hinges.md", &RECORD.replace("0007", "0003")), Info, "renumbered"),
            ("carried, over an old one", carried("0003-old.md", &RECORD.replace("0007", "0003")), Deny, "exists"),
        ],
    );
}

#[test]
fn records_that_are_referred_to_exist() {
    let related = |list: &str| {
        let line = format!("related_adrs: [{list}]");
        with_base().asked(move |t| t.replace("related_adrs: []", &line))
    };
    let superseding = |list: &str| RECORD.replace("supersedes: []", &format!("supersedes: [{list}]"));
    let carried = |text: &str| with_base().reported(&new_report("", &[("0007-hinges.md", text)], "[]"));
    hold(
        "related-adrs",
        vec![
            ("none named", with_base(), NotApplicable, "names no decision record"),
            ("no board", Scene::new(), NotApplicable, "no .agentheim/"),
            ("both spellings", related("0003, ADR-0003"), Pass, ""),
            ("dangling", related("0003, 0099"), Ask, "`0099` names none"),
            ("the one it asks for", related("0007").wrote(at("0007-hinges.md").as_str(), RECORD), Pass, ""),
            ("no number", related("the-door"), Ask, "the-door"),
            ("superseded", related("ADR-0004"), Info, "0004-gone.md"),
            ("supersedes one", new("0007-hinges.md", &superseding("ADR-0003")), Pass, ""),
            ("supersedes none", new("0007-hinges.md", &superseding("ADR-0099")), Deny, "`ADR-0099` names none"),
            ("carried, supersedes one", carried(&superseding("0003")), Pass, ""),
            ("carried, supersedes none", carried(&superseding("0098")), Deny, "0098"),
            (
                "it always did",
                with_base()
                    .had(at("0005-x.md").as_str(), superseding("0099"))
                    .wrote(at("0005-x.md").as_str(), superseding("0099") + "more\n"),
                Pass,
                "",
            ),
        ],
    );
}
