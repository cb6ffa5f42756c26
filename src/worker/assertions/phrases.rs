//! The rules: which words assert what. Each is silent unless the statement is plain.

use regex::Regex;
use std::sync::LazyLock;

/// A rule's expression. One that does not compile matches nothing, and a test finds it.
pub(super) type Rule = LazyLock<Option<Regex>>;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub(super) static $name: Rule = LazyLock::new(|| Regex::new($text).ok());)*
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &Rule)] = &[$((stringify!($name), &$name)),*];
    };
}

rules! {
    /// `86/86 tests pass`, `4966 of 4966 all passed`, `Tests: 12/12 green`.
    TESTS_OF = r"(?ix)\b(?P<some>\d[\d,]*)\s*(?:/|of|out\ of)\s*(?P<all>\d[\d,]*)\b(?P<words>[^.]{0,60}?)\b(?:pass(?:es|ed|ing)?|green|succeed(?:ed|s)?)\b";
    /// `Tests: 86/86`.
    TESTS_RATIO = r"(?i)\btests?(?:\s+(?:pass(?:ed|ing)?|results?|suite))?\s*[:=]\s*(?P<some>\d[\d,]*)\s*/\s*(?P<all>\d[\d,]*)";
    /// `all 42 tests pass`, `42 unit tests passed`, `42 checks are green`.
    TESTS_COUNTED = r"(?ix)\b(?P<whole>all\s+(?:of\s+the\s+)?)?(?P<count>\d[\d,]*)\s+(?:[\w-]+\s+){0,2}?(?:tests?|specs|test\s+cases|assertions|checks|examples)\s+(?:(?:are|is|were|all|now|still|have|has|ran\s+and)\s+){0,3}(?:pass(?:es|ed|ing)?|green|succeed(?:ed|s)?)\b";
    /// `ran 42 tests, all green`.
    TESTS_RAN = r"(?ix)\bran\s+(?:(?:all|the|whole|full|of|my|our)\s+){0,3}(?P<count>\d[\d,]*\s+)?(?:[\w-]+\s+){0,2}?(?:tests?|suite|specs)\b[^.]{0,40}?\b(?:pass(?:es|ed|ing)?|green|succeed(?:ed|s)?)\b";
    /// `all tests pass`, `the full test suite is green`, `the suite passes`.
    TESTS_WHOLE = r"(?ix)\b(?:(?:all|every|full|entire|whole|complete)\s+(?:of\s+)?(?:the\s+|our\s+|existing\s+|new\s+)*(?:[\w-]+\s+){0,2}?(?:tests?|specs|suite|checks)(?:\s+suite)?|(?:test\s+)?suite)\s+(?:(?:are|is|were|was|now|still|all|runs?|ran|have|has)\s+){0,3}(?:pass(?:es|ed|ing)?|green|succeed(?:ed|s)?)\b";
    /// `tests pass`, `tests are green`, `tests: green`.
    TESTS_PLAIN = r"(?ix)\btests?\s*[:=]?\s*(?:(?:are|is|were|was|now|still|all|have|has|run|ran)\s+){0,3}(?:pass(?:es|ed|ing)?|green|succeed(?:ed|s)?|\x{2705})(?:\b|$|\s)";
    /// `TESTS_PASSING: yes` of a report.
    TESTS_FIELD = r"(?i)^TESTS_PASSING:\s*(?:yes|true)\b";
    /// `the only failing test is X`.
    ONLY_FAILURE = r"(?ix)\b(?:the\s+)?(?:only|one|single|sole)\s+(?:remaining\s+)?(?:failing\s+test|test\s+(?:that\s+)?(?:fails|failing)|failure)\s+(?:is|was|:)\s*(?:the\s+|in\s+)?`(?P<name>[^`]+)`";
    /// A runner's own summary in pasted output.
    PASTED = r"(?ix)^\W*(?:test\ result:\ ok\.\ (?P<libtest>\d+)\ passed|tests?:\s+(?P<jest>\d+)\ passed|(?P<pytest>\d+)\ passed\b(?:\ in\ .*)?|\#?\s*pass\ (?P<node>\d+)$|(?P<mocha>\d+)\ passing\b)";

    /// `the build succeeds`, `build and tests pass`, `compiles without errors`.
    BUILD = r"(?ix)\b(?:(?P<what>build|compilation|project|code|lint(?:er|ing)?|clippy|typecheck|type[\ -]check(?:ing|er)?|type\ checks)\s+(?:(?:is|are|now|and|the|tests?|all|also|was|runs?)\s+){0,4}(?:succeed(?:s|ed)?|pass(?:es|ed|ing)?|compiles?|green|clean|successful(?:ly)?|builds)\b|(?:builds|compiles|built|compiled)\s+(?:cleanly|successfully|fine|ok|without\s+(?:any\s+)?(?:errors?|warnings?)))";

    /// A file under a verb that makes or changes one.
    WRITES = r"(?i)\b(?:created?|wrote|written|added|updated|modified|edited|changed|fixed|implemented|refactored|generated|saved|produced|rewrote|rewritten|replaced|patched|extended|moved|renamed)\b";
    /// A file under a verb that takes one away.
    DELETES = r"(?i)\b(?:deleted|removed)\s+(?:the\s+)?(?:(?:old|obsolete|unused|dead|file|files|folder|directory|module)\s+)*$";
    /// What may stand before a path that the verb is about.
    BEFORE_PATH = r"(?ix)(?:^|\b(?:in|into|inside|within|at|file|files|module|script|folder|folders|directory|directories|report|results?|the|a|an|new|and|created|wrote|written|added|updated|modified|edited|changed|fixed|implemented|refactored|generated|saved|produced|rewrote|replaced|patched|extended|deleted|removed|(?:wrote|saved|written|exported)\ (?:\w+\ ){0,3}to|as)|[,:(\[&*-])\s*$";
    /// `added a middleware to PATH`.
    ADDED_TO = r"(?i)\b(?:added|appended|moved)\b[^.;]{0,120}\bto\s*(?:the\s+)?(?:file\s+)?$";
    /// `added a link to PATH`: the link is elsewhere.
    POINTS_TO = r"(?i)\b(?:links?|linked|references?|refers?|pointers?|points?|mentions?|redirects?|similar|according|next|respect)\s+(?:back\s+)?to\s*(?:the\s+)?(?:file\s+)?$";
    /// A path as it stands in running text: with a folder, or with an extension that files have.
    BARE_PATH = r"(?x)(?:^|[\s(\[,])(?P<path>(?:~/|\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]*|[\w@+-][\w.@+-]*\.(?:rs|py|js|mjs|cjs|ts|tsx|jsx|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|md|json|ya?ml|toml|html|css|scss|sql|txt|csv|lock|xml|vue|svelte))(?:[\s),:\];.]|$)";
    /// What a path in backquotes looks like.
    PATH_SHAPE = r"(?x)^(?:~/|/|\.{1,2}/)?(?:[\w.@+\ -]+/)*(?:[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,9}|\.[A-Za-z][\w.-]*|Makefile|Dockerfile|[\w.@+-]+/)$";
    /// `src/a.rs: added X`, the path leading.
    LEADING_PATH = r"(?i)^`?(?P<path>[^`\s]+)`?\s*(?:\((?:new|modified|updated|changed|created|deleted)\)|[:\x{2014}\x{2013}-])";
    /// `src/a.rs was updated`.
    PASSIVE = r"(?i)^\s*(?:file\s+)?(?:(?:is|was|were|has\s+been|have\s+been|are)\s+(?:now\s+)?(?:created|written|added|updated|modified|edited|changed|generated|saved|rewritten)|now\s+(?:contains|has|exists|holds))\b";

    /// `ran X` with the command in backquotes.
    RAN = r"(?ix)\b(?:ran|executed|invoked|re-?ran)\s+(?:the\s+|command\s+|again\s+|both\s+)*$";
    /// `committed as abc1234`.
    COMMIT_ID = r"(?ix)\bcommit(?:ted)?\b(?:\s+(?:as|in|with|hash|id|sha|is|was|the|change|changes|it|work|everything|:|=|\()){0,5}[\s:(`]*(?P<id>[0-9a-f]{7,40})\b";
    /// `committed the changes`.
    COMMITTED = r"(?ix)\b(?:(?:i|we|and|have|was|were|is|are|been|everything|changes|work|all)\s+committed|committed\s+(?:the|all|my|these|everything|it|and|to|locally|changes|work|on)|commit\s+(?:was\s+)?(?:created|made|succeeded)|changes\s+are\s+committed|^committed$)\b";
    /// All of it was committed.
    COMMITTED_ALL = r"(?i)\b(?:all|everything|whole|working tree (?:is )?clean)\b";
    /// `pushed the branch`, `branch pushed`, `pushed to origin/x`.
    PUSHED = r"(?ix)\b(?:pushed\b(?:\s+(?:it|the|my|this|all|both|commits?|branch|changes|work|and|to|up|everything|successfully|origin)\b|\s*`|\s*$)|(?:branch|commits?|changes|work|is|are|was|were|been)\s+(?:successfully\s+)?pushed\b)";
    /// The branch that was pushed.
    PUSHED_BRANCH = r"(?ix)(?:branch\s+`(?P<named>[\w./-]+)`|`(?P<before>[\w./-]+)`\s+(?:branch\s+)?(?:was\s+|is\s+|has\s+been\s+)?pushed|pushed\s+(?:the\s+|my\s+|branch\s+|it\s+|changes\s+|commits\s+|to\s+)*`(?P<after>[\w./-]+)`|(?:origin|upstream)/(?P<remote>[\w./-]+))";
    /// `opened PR #12`, `PR #12 is open`.
    PR = r"(?ix)\b(?:(?:opened|created|submitted|raised|filed|made)\s+(?:a\s+|an\s+|the\s+|draft\s+|new\s+)*(?:pr|pull\s+request|merge\s+request|mr)\b|(?:pr|pull\s+request|merge\s+request)\s*\#?\d*\s+(?:is\s+|was\s+|has\s+been\s+|now\s+)*(?:open(?:ed)?|created|submitted|ready|up|marked)\b)";
    /// Its number or address.
    PR_NUMBER = r"(?ix)(?:(?:pr|pull\s+request|mr|merge\s+request)\s*[\#!]?\s*(?P<number>\d+)|/(?:pull|merge_requests)/(?P<linked>\d+))\b";
    /// `deployed`, `the service is live`, `running at http://…`.
    DEPLOYED = r"(?ix)\b(?:deployed\b|(?:is|are)\s+(?:now\s+)?live\b|(?:server|service|app|application|site|api)\s+is\s+(?:now\s+)?(?:up(?:\s+and\s+running)?|running)\b|listening\s+on\s+(?:http|port|localhost|127))";
    /// An address.
    URL = r"(?P<url>https?://[^\s`<>()\[\]]+)";
    /// `108 of 108 issues fixed`, `all 108 items done`.
    ITEMS = r"(?ix)\b(?:(?P<some>\d[\d,]*)\s*(?:/|of|out\ of)\s*(?P<of>\d[\d,]*)|all\s+(?:of\s+the\s+|the\s+)?(?P<all>\d[\d,]*))\s+(?:[\w-]+\s+){0,2}?(?P<noun>items?|tasks?|issues?|checkboxes|boxes|todos?|entries|findings|errors?|warnings?|files?|bugs?|violations|problems?|points|comments|fixed|done|complete[d]?|resolved)\b";
    /// What was done to them.
    ITEMS_DONE = r"(?i)\b(?:fixed|done|completed?|resolved|addressed|finished|updated|implemented|checked|ticked|migrated|converted|closed|processed|handled)\b";
    /// `installed X`.
    INSTALLED = r"(?i)\binstalled\b";
    /// `verified in the browser`, `visually confirmed`.
    OBSERVED = r"(?ix)\b(?:(?:verified|confirmed|checked|tested|validated|reproduced|inspected)\b[^.]{0,50}?\b(?:visually|manually|in\s+(?:the\s+|a\s+|my\s+)?(?:live\s+|running\s+|real\s+)*(?:app|application|browser|ui|simulator|emulator|page|site)|on\s+(?:the\s+|a\s+)?(?:real\s+)?(?:device|hardware|phone|card)|by\s+running\s+(?:it|the\s+(?:app|program|binary|server))|(?:on|with|against|using)\s+(?:the\s+|a\s+)?(?:debug|release|production|new)\s+(?:build|binary))|(?:visually|manually)\s+(?:verified|confirmed|checked|tested)|took\s+(?:a\s+)?screenshots?|(?:screenshot|app|page|ui)\s+(?:shows|confirms))\b";
    /// The built thing that was looked at.
    ARTIFACT = r"`(?P<path>(?:\./)?(?:target|build|dist|out|bin)/[^`\s]+)`";
    /// `the reviewer approved`, `review passed`.
    REVIEWED = r"(?ix)\b(?:review(?:er)?(?:\s+(?:agent|verdict|status|result))?\s*(?:is|was|:|=|has|says|said)?\s*(?:\w+\s+){0,2}?(?:pass(?:ed|es)?|approved?|approves|ok|clean|lgtm)|approved\s+by\s+(?:the\s+|a\s+)?review(?:er)?|reviewed\s+by\s+(?:a|the)\s+(?:fresh\s+|second\s+)?(?:sub-?agent|reviewer))\b";
    /// `did not touch X`.
    UNTOUCHED = r"(?ix)\b(?:did\s+not|didn't|have\s+not|haven't|without|never|no\s+changes?\s+to|left)\s*(?:touch(?:ed|ing)?|chang(?:e|ed|ing)|modif(?:y|ied|ying)|edit(?:ed|ing)?)?\s*(?:the\s+|any\s+of\s+|anything\s+(?:in|under)\s+|file\s+|files\s+in\s+)*$";
    /// `only changed X`.
    ONLY_CHANGED = r"(?ix)\b(?:only\s+(?:changed|touched|modified|edited)|(?:changed|touched|modified|edited)\s+only|only\s+files?\s+(?:changed|touched|modified|edited)\s*(?:is|are|:)?)\b";

    /// A question for a reason.
    WHY = r"(?ix)(?:^|[.!,:;]\s*|\b(?:explain|tell\s+me|know|understand|find\s+out|figure\s+out|investigate|determine)\s+)(?:why\b|how\s+come\b|what(?:'s|\s+is|\s+are|\s+was)?\s+(?:caus(?:es|ing|ed)|the\s+(?:root\s+)?(?:cause|reason))\b)";
    /// An answer to one.
    BECAUSE = r"(?ix)\b(?:because|caused?\s+by|due\s+to|the\s+(?:root\s+)?(?:cause|reason)|reason\s+is|stems\s+from|since\s+(?:the|it|we)|happens\s+when|results?\s+from|culprit)\b";
}

/// A number as people write it.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().replace(',', "").parse().ok()
}

/// The first match of a rule.
pub(super) fn find<'t>(rule: &Rule, text: &'t str) -> Option<regex::Captures<'t>> {
    rule.as_ref()?.captures(text)
}

/// True if a rule matches.
pub(super) fn says(rule: &Rule, text: &str) -> bool {
    rule.as_ref().is_some_and(|rule| rule.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        let broken: Vec<_> = ALL.iter().filter(|(_, rule)| rule.is_none()).map(|(name, _)| name).collect();
        assert_eq!(broken, [&""; 0]);
    }
}
