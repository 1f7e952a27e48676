use super::*;

/// The word of a task.
const fn task(id: u64) -> u64 {
    id << 1 | 1
}

#[test]
fn events_are_sentences_with_lines_and_names() {
    let (one, two) = (task(7), task(8));
    let text = format!(
        r#"{{"format":1,"kinds":["Mutex","JoinHandle","thread::Mutex"],"locations":["a.rs:3","b.rs:4"],
        "objects":["log",null,null],"ids":[70,80,90],"events":[
        [10,1,0,0,{two},{one},1],
        [29,2,0,91,{one},0,0],
        [1,2,0,0,{one},2,0],
        [3,3,0,1,{one},0,2],
        [2,4,0,0,{one},2,0],
        [9,5,0,0,{one},{two},0],
        [29,6,0,92,{one},0,0],
        [1,6,0,0,{one},2,0],
        [7,7,0,1,{one},0,2],
        [11,8,0,1,{one},0,2],
        [20,9,0,2,{one},0,0],
        [12,10,0,1,{one},0,0],
        [9,11,0,0,{one},{one},0],
        [9,11,0,0,{one},{one},0],
        [9,11,0,0,{one},{one},2],
        [4,12,1,8,{one},0,0],
        [9,13,1,0,{one},{two},0],
        [29,14,0,93,{one},0,0],
        [1,14,0,0,{one},2,0],
        [11,15,2,3,{one},0,2],
        [12,16,0,3,{one},0,0],
        [3,17,0,2,{one},0,1],
        [29,18,0,4,{one},0,2],
        [2,19,0,0,{one},2,0],
        [9,20,0,0,{one},2,0],
        [30,21,0,5,2,0,0],
        [30,22,0,99,2,0,0],
        [9,23,2,0,{one},2,0]
        ]}}"#
    );
    let recording = Recording::parse(text.as_bytes()).unwrap();
    let notes = BTreeMap::from([(4, "reads".into()), (5, "a packet of a".into())]);
    let words = |tasks: &[u64]| {
        let tasks = tasks.iter().copied().zip(1..).collect();
        recording.words(&Known {
            tasks: &tasks,
            name: &|task| format!("task {task}"),
            notes: &notes,
            thread: 1,
            is_step: &|number| (91..94).contains(&number),
            is_hidden: &|at| at == "a.rs:3",
            is_of_files: &|_| false,
        })
    };
    let Words {
        steps,
        said,
        waits,
        objects,
        ..
    } = words(&[7]);
    assert_eq!(steps, [91, 92, 93]);
    let texts: Vec<(usize, &str)> = said.iter().map(|s| (s.step, s.text.as_str())).collect();
    assert_eq!(
        texts,
        [
            (1, "waits for Mutex \"log\", at b.rs:4"),
            (1, "is woken by task 8"),
            (2, "takes Mutex \"log\", at b.rs:4"),
            (2, "is about to use Mutex #1"),
            (2, "releases Mutex \"log\""),
            (2, "yields"),
            (2, "yields, at b.rs:4"),
            (2, "waits for JoinHandle of task 8"),
            (2, "is woken by a timer"),
            (3, "waits for Mutex #1"),
            (3, "reads, at b.rs:4"),
            (3, "is woken by the end of task 1"),
            (3, "is woken by a packet of a"),
        ]
    );
    assert_eq!(said.iter().filter(|said| said.yields).count(), 1);
    assert_eq!(said.iter().filter(|said| said.is_later).count(), 2);
    // Another simulation has the third object.
    assert_eq!(objects, BTreeMap::from([(80, 1)]));
    let waits: Vec<_> = waits
        .iter()
        .map(|w| (w.step, w.location.as_str()))
        .collect();
    assert_eq!(waits, [(2, ""), (3, "a.rs:3")]);
    let words = words(&[8, 7]);
    assert_eq!(
        (words.steps.len(), words.said[0].text.as_str()),
        (3, "begins")
    );
}

/// Task 9 is an operation that task 7 waits for. Task 8 waits for task 7 at the same file.
#[test]
fn operations_on_files_are_parts_of_their_tasks() {
    let (one, two, operation) = (task(7), task(8), task(9));
    let text = format!(
        r#"{{"format":1,"kinds":["Mutex","JoinHandle"],"locations":["a.rs:3","fs.rs:4"],"objects":[null],
        "created":["fs.rs:1"],"ids":[70],"events":[
        [29,1,0,91,{one},0,0],
        [20,2,0,1,{one},0,0],
        [11,3,0,1,{one},0,2],
        [10,4,0,0,{operation},{one},2],
        [4,5,1,9,{one},0,1],
        [29,6,0,92,{two},0,0],
        [3,7,0,1,{two},0,2],
        [29,8,0,93,{operation},0,0],
        [29,9,0,4,{one},0,1],
        [2,10,0,0,{operation},2,0],
        [9,11,0,0,{one},2,0],
        [29,12,0,94,{one},0,0],
        [8,13,1,9,{one},0,1],
        [12,14,0,1,{one},0,0],
        [4,15,1,9,{one},0,1]
        ]}}"#
    );
    let recording = Recording::parse(text.as_bytes()).unwrap();
    let words = recording.words(&Known {
        tasks: &BTreeMap::from([(7, 1), (8, 2), (9, 3)]),
        name: &|task| format!("task {task}"),
        notes: &BTreeMap::from([(4, "syncs /log".into())]),
        thread: 1,
        is_step: &|number| number > 90,
        is_hidden: &|_| false,
        is_of_files: &|at| at.starts_with("fs.rs"),
    });
    let said = words.said.iter().filter(|said| said.task != 3);
    let said: Vec<_> = said
        .map(|said| (said.task, said.step, said.text.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (1, 1, ""),
            (2, 2, "waits for another operation on its file"),
            (1, 3, "syncs /log, at a.rs:3"),
            (1, 4, "waits for the disk, at a.rs:3"),
        ]
    );
}

#[test]
fn children_of_scopes_are_told_apart() {
    let (one, first, second) = (
        task(7),
        task(number_of_child(40)),
        task(number_of_child(50)),
    );
    let text = format!(
        r#"{{"format":1,"kinds":["Mutex","JoinHandle"],"locations":["a.rs:3","b.rs:4"],"objects":["log"],"ids":[70],
        "events":[
        [29,1,0,91,{one},0,0],
        [1,1,0,0,{one},2,0],
        [31,2,0,0,{first},{one},1],
        [9,2,0,0,{one},{one},0],
        [31,3,0,0,{second},{first},2],
        [28,4,0,0,{first},{one},0],
        [11,5,0,1,{first},0,1],
        [28,6,0,0,{second},{first},0],
        [3,7,0,1,{second},0,2],
        [12,8,0,1,{first},0,0],
        [32,8,0,0,{second},{first},0],
        [32,8,0,0,{first},{first},0],
        [9,8,0,0,{one},{first},0],
        [9,8,0,0,{one},{one},0],
        [4,9,1,{target},{one},0,1],
        [2,9,0,0,{one},2,0],
        [32,10,1,0,{first},2,0],
        [9,10,1,0,{one},2,0],
        [9,11,0,0,{one},{second},0]
        ]}}"#,
        target = number_of_child(40)
    );
    let tasks = BTreeMap::from([(7, 1)]);
    let known = Known {
        tasks: &tasks,
        name: &|task| format!("task {task}"),
        notes: &BTreeMap::new(),
        thread: 1,
        is_step: &|number| number == 91,
        is_hidden: &|_| false,
        is_of_files: &|_| false,
    };
    let words = |recording: &Recording| {
        let words = recording.words(&known);
        let said = words.said.iter();
        let said = said.map(|said| format!("{:?} {}", said.child.as_deref(), said.text));
        (said.collect::<Vec<_>>(), words)
    };
    let (said, of) = words(&Recording::parse_with_children(text.as_bytes()).unwrap());
    assert_eq!(
        said,
        [
            r#"Some("child 1") is spawned by task 1"#,
            r#"Some("child 2 of child 1") is spawned by child 1 of task 1"#,
            r#"Some("child 1") takes Mutex "log", at a.rs:3"#,
            r#"Some("child 2 of child 1") waits for Mutex "log", at b.rs:4"#,
            r#"Some("child 1") releases Mutex "log""#,
            r#"Some("child 2 of child 1") is woken by child 1 of task 1"#,
            "None waits for JoinHandle of child 1 of task 1, at a.rs:3",
            r#"Some("child 1") is woken by a timer"#,
            "None is woken by child 2 of child 1 of task 1",
        ]
    );
    let children = of.children.iter();
    let children: Vec<_> = children
        .map(|child| (child.id, child.number, &*child.name, &*child.spawned_at))
        .collect();
    let expected = [
        (40, 1, "child 1", "a.rs:3"),
        (50, 2, "child 2 of child 1", "b.rs:4"),
    ];
    assert_eq!(children, expected);
    let waiters: Vec<u64> = of.waits.iter().map(|wait| wait.waiter).collect();
    assert_eq!(waiters, [number_of_child(2), 1]);
    assert_eq!((of.steps, of.said[0].task), (vec![91], 1));

    // Elsewhere, all is the task's: it is neither spawned nor woken twice.
    let (said, _) = words(&Recording::parse(text.as_bytes()).unwrap());
    assert!(
        said.iter().all(|said| said.starts_with("None ")),
        "{said:?}"
    );
    assert!(
        !said.iter().any(|said| said.contains("spawned")),
        "{said:?}"
    );
}
