//! Small boards of both layouts.

use super::TestRepo;

/// Where a board keeps its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// `.agentheim/contexts/<context>/<status>/`.
    Legacy,
    /// `.agentheim/board/<context>/<status>/` and `.agentheim/knowledge/`.
    TwoRoot,
}

/// A board with one context and one task, written in one go.
#[derive(Debug, Clone)]
#[must_use]
pub(crate) struct Board {
    layout: Layout,
    context: String,
    id: String,
    kind: String,
    status: String,
    extra: String,
    criteria: Vec<String>,
    readme: String,
}

impl Board {
    /// A board of the older layout, whose context follows from the task's id.
    pub(crate) fn legacy(id: &str) -> Self {
        Self::of(Layout::Legacy, id)
    }

    /// A board of the two-root layout.
    pub(crate) fn two_root(id: &str) -> Self {
        Self::of(Layout::TwoRoot, id)
    }

    fn of(layout: Layout, id: &str) -> Self {
        let context = id.rsplit_once('-').map_or(id, |(context, _)| context).to_owned();
        Self {
            layout,
            context,
            id: id.to_owned(),
            kind: "feature".to_owned(),
            status: "doing".to_owned(),
            extra: String::new(),
            criteria: Vec::new(),
            readme: String::new(),
        }
    }

    /// Adds a criterion: the bullet's text after its box.
    pub(crate) fn criterion(mut self, text: &str) -> Self {
        self.criteria.push(text.to_owned());
        self
    }

    /// The task's type; `feature` unless said.
    pub(crate) fn kind(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.kind);
        self
    }

    /// The folder and status; `doing` unless said.
    pub(crate) fn status(mut self, status: &str) -> Self {
        status.clone_into(&mut self.status);
        self
    }

    /// Adds a line of frontmatter, e.g. `paths: [src/**]`.
    pub(crate) fn frontmatter(mut self, line: &str) -> Self {
        self.extra.push_str(line);
        self.extra.push('\n');
        self
    }

    /// Adds to the context's README, e.g. a `## Test command` section.
    pub(crate) fn readme(mut self, text: &str) -> Self {
        self.readme.push_str(text);
        self
    }

    /// Where the task file lies.
    pub(crate) fn task_path(&self) -> String {
        let Self { context, status, id, .. } = self;
        let lifecycle = match self.layout {
            Layout::Legacy => "contexts",
            Layout::TwoRoot => "board",
        };
        format!(".agentheim/{lifecycle}/{context}/{status}/{id}-make-it-so.md")
    }

    /// The task file's text.
    pub(crate) fn task(&self) -> String {
        let Self { id, status, kind, context, extra, .. } = self;
        let criteria: String = self.criteria.iter().map(|text| format!("- [ ] {text}\n")).collect();
        format!(
            "---\nid: {id}\ntitle: Make it so\nstatus: {status}\ntype: {kind}\ncontext: {context}\n\
             created: 2026-09-20\ncompleted:\ndepends_on: []\nblocks: []\n{extra}---\n\n\
             ## Why\nBecause.\n\n## What\nThis.\n\n## Acceptance criteria\n{criteria}\n## Notes\n"
        )
    }

    /// Writes and commits it; the commit is the base a claim is measured against.
    pub(crate) fn commit(&self, repo: &TestRepo) -> String {
        let Self { context, readme, .. } = self;
        let (knowledge, board, contexts) = match self.layout {
            Layout::Legacy => (".agentheim", ".agentheim/knowledge", ".agentheim/contexts"),
            Layout::TwoRoot => (".agentheim/knowledge", ".agentheim/board", ".agentheim/knowledge/contexts"),
        };
        repo.write(format!("{knowledge}/vision.md"), "# Vision\n");
        repo.write(format!("{board}/protocol.md"), "# Protocol\n\n---\n\n");
        let readme = format!("# {context}\n\n## Purpose\nTo be tested.\n\n{readme}");
        repo.write(format!("{contexts}/{context}/README.md"), readme);
        repo.write(".agentheim/knowledge/index.md", "# Index\n");
        repo.write(self.task_path(), self.task());
        repo.commit("board")
    }
}

#[test]
fn a_board_of_each_layout_is_never_mixed() {
    for (board, has, lacks) in [
        (Board::legacy("shop-cart-001"), ".agentheim/contexts/shop-cart/done", ".agentheim/board"),
        (Board::two_root("shop-cart-001"), ".agentheim/board/shop-cart/done", ".agentheim/contexts"),
    ] {
        let repo = TestRepo::new();
        let board = board
            .criterion("It adds — test: `adds`")
            .kind("bug")
            .status("done")
            .frontmatter("paths: [src/**]")
            .readme("## Test command\n`true`\n");
        board.commit(&repo);
        assert!(repo.path().join(has).is_dir(), "{has}");
        assert!(!repo.path().join(lacks).exists(), "{lacks}");
        let text = std::fs::read_to_string(repo.path().join(board.task_path())).unwrap();
        assert!(text.contains("\ntype: bug\n") && text.contains("\npaths: [src/**]\n---\n"));
        assert!(text.contains("\n- [ ] It adds — test: `adds`\n"));
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}
