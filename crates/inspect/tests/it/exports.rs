//! Recordings in the formats of other programs, read back.

use std::collections::HashMap;

use blitz_io_inspect::trace::{Recording, folded, otlp, perfetto, pprof};
use serde_json::Value;

use crate::made::*;

/// Two requests: task 1 sleeps for 8 ms with a lock, for which task 2 waits for 8 ms.
fn recording() -> Recording {
    let mut made = a_task_waits_for_a_lock();
    made.request_end(10.0, 1, 1)
        .end(10.0, 1)
        .poll(10.0, 2)
        .wait_end(10.0, 2, MUTEX, SESSIONS, LOCK)
        .request_end(11.0, 2, 2)
        .end(11.0, 2);
    // The clock of the events began a second after 1970.
    let text = made.text().replacen('{', "{\"unix\":1000000000,", 1);
    Recording::parse(text.as_bytes()).unwrap()
}

/// A value of a message of Protocol Buffers.
#[derive(Clone, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => panic!("{self:?}"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(_) => panic!("{self:?}"),
        }
    }

    fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes()).unwrap()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let (&first, rest) = bytes.split_first().expect("the message is whole");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * place);
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Reads a message: the values of its fields, by their numbers.
fn message(mut bytes: &[u8]) -> HashMap<u64, Vec<Field<'_>>> {
    let mut fields: HashMap<u64, Vec<Field<'_>>> = HashMap::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            other => panic!("kind {other}"),
        };
        fields.entry(key >> 3).or_default().push(value);
    }
    fields
}

fn numbers(mut bytes: &[u8]) -> Vec<u64> {
    let mut all = vec![];
    while !bytes.is_empty() {
        all.push(varint(&mut bytes));
    }
    all
}

#[test]
fn perfetto_gets_tracks_slices_and_flows() {
    let bytes = perfetto(&recording());
    let trace = message(&bytes);
    let mut tracks = HashMap::new();
    let mut depths: HashMap<u64, i32> = HashMap::new();
    let (mut slices, mut flows) = (vec![], vec![]);
    for packet in &trace[&1] {
        let packet = message(packet.bytes());
        assert_eq!(packet[&10][0].number(), 1, "the sequence");
        if let Some(track) = packet.get(&60) {
            let track = message(track[0].bytes());
            let parent = track.get(&5).map(|parent| parent[0].number());
            let known = tracks.insert(track[&1][0].number(), (track[&2][0].text(), parent));
            assert!(known.is_none(), "a track twice");
            continue;
        }
        let (at, event) = (packet[&8][0].number(), message(packet[&11][0].bytes()));
        let track = event[&11][0].number();
        match event[&9][0].number() {
            1 => {
                let name = event[&23][0].text();
                let line = event.get(&4).map(|annotation| {
                    let annotation = message(annotation[0].bytes());
                    assert_eq!(annotation[&10][0].text(), "at");
                    annotation[&6][0].text()
                });
                slices.push((tracks[&track].0, name, line, at));
                *depths.entry(track).or_default() += 1;
            }
            2 => *depths.entry(track).or_default() -= 1,
            _ => flows.extend([47, 48].iter().filter_map(|field| {
                let flow = event.get(field)?[0].number();
                Some((*field, flow, tracks[&track].0))
            })),
        }
    }
    assert!(depths.values().all(|depth| *depth == 0), "{depths:?}");
    assert_eq!(tracks[&1], ("requests", None));
    for (_, parent) in tracks
        .values()
        .filter(|(name, _)| name.starts_with("task "))
    {
        assert_eq!(tracks[&parent.unwrap()].0, "tasks");
    }
    let lock = slices
        .iter()
        .find(|slice| slice.1 == "Mutex \"sessions\"")
        .unwrap();
    assert_eq!(
        *lock,
        ("GET /x", "Mutex \"sessions\"", Some("main.rs:2"), 2_000_000)
    );
    assert_eq!(
        flows,
        [(47, 1, "task 1 (main.rs:1)"), (48, 1, "task 2 (main.rs:1)")]
    );
}

#[test]
fn pprof_gets_the_waits_with_their_lines() {
    let bytes = pprof(&recording());
    let profile = message(&bytes);
    let strings: Vec<_> = profile[&6].iter().map(Field::text).collect();
    assert_eq!(strings[0], "");
    let types = profile[&1].iter().map(|of| {
        let of = message(of.bytes());
        (
            strings[of[&1][0].number() as usize],
            strings[of[&2][0].number() as usize],
        )
    });
    assert_eq!(
        types.collect::<Vec<_>>(),
        [("waits", "count"), ("delay", "nanoseconds")]
    );
    let functions: HashMap<_, _> = (profile[&5].iter())
        .map(|function| {
            let function = message(function.bytes());
            let name = strings[function[&2][0].number() as usize];
            let file = strings[function[&4][0].number() as usize];
            (function[&1][0].number(), (name, file))
        })
        .collect();
    let locations: HashMap<_, _> = (profile[&4].iter())
        .map(|location| {
            let location = message(location.bytes());
            let line = message(location[&4][0].bytes());
            let (name, file) = functions[&line[&1][0].number()];
            (location[&1][0].number(), (name, file, line[&2][0].number()))
        })
        .collect();
    let mut samples: Vec<_> = (profile[&2].iter())
        .map(|sample| {
            let sample = message(sample.bytes());
            let frames = numbers(sample[&1][0].bytes());
            let frames: Vec<_> = frames.iter().map(|frame| locations[frame]).collect();
            (frames, numbers(sample[&2][0].bytes()))
        })
        .collect();
    samples.sort();
    let root = ("GET /x", "", 0);
    let lock = ("lock Mutex \"sessions\"", "main.rs", 2);
    let nap = ("timer Sleep", "main.rs", 3);
    assert_eq!(
        samples,
        [
            (
                vec![("running", "main.rs", 1), lock, root],
                vec![1, 1_000_000]
            ),
            (vec![nap, root], vec![1, 8_000_000]),
            (vec![nap, lock, root], vec![1, 7_000_000]),
        ]
    );
    assert_eq!(profile[&9][0].number(), 1_000_000_000);
    assert_eq!(profile[&10][0].number(), 11_000_000);
}

#[test]
fn folded_stacks_add_up_to_the_waits() {
    let text = folded(&recording());
    assert_eq!(
        text,
        "GET /x;lock Mutex \"sessions\" at main.rs:2;running at main.rs:1 1000\n\
         GET /x;lock Mutex \"sessions\" at main.rs:2;timer Sleep at main.rs:3 7000\n\
         GET /x;timer Sleep at main.rs:3 8000\n"
    );
}

#[test]
fn opentelemetry_gets_a_trace_for_each_request() {
    let value: Value = serde_json::from_str(&otlp(&recording())).unwrap();
    let resource = &value["resourceSpans"][0];
    let attributes = &resource["resource"]["attributes"];
    assert_eq!(attributes[0]["value"]["stringValue"], "server");
    assert_eq!(attributes[1]["value"]["intValue"], "7");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let mut ids: Vec<_> = spans
        .iter()
        .map(|span| span["spanId"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
    let roots: Vec<_> = spans
        .iter()
        .filter(|span| span["parentSpanId"].is_null())
        .collect();
    assert_eq!(roots.len(), 2);
    assert_ne!(roots[0]["traceId"], roots[1]["traceId"]);
    for span in spans {
        let is_hex = |id: &Value, length| {
            let id = id.as_str().unwrap();
            id.len() == length && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        assert!(
            is_hex(&span["traceId"], 32) && is_hex(&span["spanId"], 16),
            "{span}"
        );
    }
    let lock = spans
        .iter()
        .find(|span| span["name"] == "lock Mutex \"sessions\"")
        .unwrap();
    assert_eq!(lock["startTimeUnixNano"], "1002000000");
    assert_eq!(lock["endTimeUnixNano"], "1010000000");
    assert_eq!(lock["parentSpanId"], roots[1]["spanId"]);
    assert_eq!(lock["traceId"], roots[1]["traceId"]);
    let of = |key: &str| {
        let mut attributes = lock["attributes"].as_array().unwrap().iter();
        attributes
            .find(|one| one["key"] == key)
            .map(|one| one["value"].clone())
    };
    assert_eq!(
        of("blitz.behind").unwrap()["stringValue"],
        "task 1 (main.rs:1)"
    );
    assert_eq!(of("code.file.path").unwrap()["stringValue"], "main.rs");
    assert_eq!(of("code.line.number").unwrap()["intValue"], "2");
}

/// A name that has a meaning in a format stays one name.
#[test]
fn names_are_only_names() {
    let text = r#"{"format":1,"names":["a;b\nc\"d"],"locations":["x;y.rs:7"],"kinds":["Sleep"],"events":[
        [1,0,0,0,3,2,0],[13,0,0,1,3,1,0],[4,1000,0,0,3,0,1],[2,1000,0,0,3,2,0],[9,4000,1,0,3,2,0],
        [1,4000,0,0,3,2,0],[8,4000,0,0,3,0,1],[14,4000,0,0,3,1,0]]}"#;
    let recording = Recording::parse(text.as_bytes()).unwrap();
    assert_eq!(folded(&recording), "a,b c\"d;timer Sleep at x,y.rs:7 3\n");
    let value: Value = serde_json::from_str(&otlp(&recording)).unwrap();
    let spans = &value["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!(spans[0]["name"], "a;b\nc\"d");
}
