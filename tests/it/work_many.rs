//! Many tasks, two conductors and a person, all at once: every task lands exactly once, no commit is lost, and no
//! checkout shows a change that nobody made.

use crate::support::{Crew, end_of};
use countersign::pipeline::work::{WorkEvent, WorkReport};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A worker that does nothing but what is asked.
const NULL: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";

/// How often a person tries a command that meets another git's lock.
const TRIES: usize = 2000;

/// What the person does whenever a task ends: commits a file of his own, stages another, edits a third.
struct Person<'c> {
    crew: &'c Crew,
    commits: Vec<String>,
}

impl Person<'_> {
    /// Git as a person runs it: what finds the index locked, or the branch moved, is typed again.
    fn git(&self, words: &[&str]) {
        let mut said = String::new();
        for _ in 0..TRIES {
            let done = self.crew.repo.try_git_in(&self.crew.repo.path(), words);
            if done.status.success() {
                return;
            }
            said = String::from_utf8_lossy(&done.stderr).into_owned();
            std::thread::yield_now();
        }
        panic!("git {}: {said}", words.join(" "));
    }

    fn acts(&mut self) {
        let number = self.commits.len() + 1;
        let name = format!("person-{number}.txt");
        self.crew.repo.write(&name, "a person's\n");
        self.git(&["add", &name]);
        self.git(&["commit", "-q", "-m", &format!("person {number}"), "--", &name]);
        self.commits.push(format!("person {number}"));
        self.crew.repo.write("staged.txt", format!("staged {number}\n"));
        self.git(&["add", "staged.txt"]);
        self.crew.repo.write("edited.txt", format!("edited {number}\n"));
    }
}

/// Asserts that each of so many tasks landed once, and that every commit of the person is there.
fn all_landed(crew: &Crew, tasks: usize, commits: &[String], reports: &[WorkReport]) {
    let mut subjects: BTreeMap<String, usize> = BTreeMap::new();
    for subject in crew.subjects() {
        *subjects.entry(subject).or_default() += 1;
    }
    for number in 1..=tasks {
        let id = format!("w-{number}");
        let landings = subjects.get(&format!("feature(w): {id} is made [{id}]")).copied().unwrap_or(0);
        assert_eq!(landings, 1, "{id}: {reports:#?}");
        assert_eq!(subjects.get(&format!("chore(w): batch start [{id}]")).copied(), Some(1), "{id}");
    }
    for commit in commits {
        assert_eq!(subjects.get(commit).copied(), Some(1), "{commit} is lost");
    }
    let files = crew.repo.git(&["ls-tree", "--name-only", "main"]);
    let made = files.lines().filter(|name| name.starts_with("w-")).count();
    let persons = files.lines().filter(|name| name.starts_with("person-")).count();
    assert_eq!((made, persons), (tasks, commits.len()));
    let index = crew.landed(".agentheim/board/w/INDEX.md").unwrap();
    assert!(index.contains(&format!("- **Done:** {tasks}")) && index.contains("- **Doing:** 0"), "{index}");
    assert_eq!(crew.repo.git(&["ls-tree", "--name-only", "main:.agentheim/board/w/done"]).lines().count(), tasks);
    assert_eq!(crew.repo.git(&["for-each-ref", "refs/heads/aw"]), "");
    crew.repo.no_lock_left();
    crew.repo.no_process_left();
}

#[test]
fn two_conductors_and_a_person_at_work_on_one_branch_lose_nothing_of_each_others() {
    const TASKS: usize = 6;
    let crew = Crew::of(TASKS);
    crew.repo.write("staged.txt", "0\n");
    crew.repo.write("edited.txt", "0\n");
    crew.repo.commit("files");
    crew.worker(NULL);
    let person = Mutex::new(Person { crew: &crew, commits: Vec::new() });
    let request = crew.request(&[]);
    let run = || {
        crew.ask_watching(&request, &mut |event| {
            if matches!(event, WorkEvent::Ended(_) | WorkEvent::Taken { .. }) {
                person.lock().unwrap().acts();
            }
        })
    };
    let reports: Vec<WorkReport> = std::thread::scope(|scope| {
        let runs = [0, 1].map(|_| scope.spawn(run));
        runs.map(|run| run.join().unwrap().unwrap()).into()
    });
    let commits = person.into_inner().unwrap().commits;
    assert!(commits.len() >= TASKS, "{commits:?}");
    // What two runs of ten minutes could not land among so many commits waits, and is named; one more run lands it.
    let last = crew.work(&[]);
    assert!(last.tasks.iter().all(|end| end_of(&last, &end.task) == "landed"), "{last:#?}");
    all_landed(&crew, TASKS, &commits, &reports);
    let number = commits.len();
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), " M edited.txt\nM  staged.txt");
    assert_eq!(crew.repo.git(&["show", ":staged.txt"]), format!("staged {number}"));
    assert_eq!(std::fs::read_to_string(crew.repo.path().join("edited.txt")).unwrap(), format!("edited {number}\n"));
}

#[test]
#[ignore = "minutes: 200 tasks; to be run by hand"]
fn two_hundred_tasks_by_two_conductors_each_land_exactly_once() {
    const TASKS: usize = 200;
    let crew = Crew::of(TASKS);
    crew.worker(NULL);
    let mut request = crew.request(&[]);
    request.parallel = 3;
    let reports: Vec<WorkReport> = std::thread::scope(|scope| {
        let runs = [0, 1].map(|_| scope.spawn(|| crew.ask(&request)));
        runs.map(|run| run.join().unwrap().unwrap()).into()
    });
    all_landed(&crew, TASKS, &[], &reports);
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}
