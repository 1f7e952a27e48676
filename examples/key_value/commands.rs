//! What the commands do.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::resp::Reply;
use crate::store::{Keys, Store, Value, own};

/// A reply, or an error for the client.
type Answer = Result<Reply, String>;

const OK: Reply = Reply::Simple("OK");
const NO_INTEGER: &str = "ERR value is not an integer or out of range";
const SYNTAX: &str = "ERR syntax error";
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// Runs one command: its name and its arguments.
pub fn run(command: &[Bytes], store: &Store) -> Reply {
    let name = command[0].to_ascii_uppercase();
    let arguments = &command[1..];
    let Some((_, fewest, most, body)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
        let name = String::from_utf8_lossy(&command[0]);
        return Reply::Error(format!("ERR unknown command '{name}'"));
    };
    if !(*fewest..=*most).contains(&arguments.len()) {
        let name = String::from_utf8_lossy(&name).to_lowercase();
        return Reply::Error(format!(
            "ERR wrong number of arguments for '{name}' command"
        ));
    }
    store
        .with(|keys| body(keys, arguments))
        .unwrap_or_else(Reply::Error)
}

type Body = fn(&mut Keys, &[Bytes]) -> Answer;

const ANY: usize = usize::MAX;

/// The name of each command, its least and greatest number of arguments, and what it does.
const COMMANDS: &[(&[u8], usize, usize, Body)] = &[
    (b"GET", 1, 1, get),
    (b"SET", 2, ANY, set),
    (b"PING", 0, 1, ping),
    (b"INCR", 1, 1, |keys, key| add(keys, &key[0], 1)),
    (b"LPUSH", 2, ANY, |keys, arguments| {
        push(keys, arguments, End::Left)
    }),
    (b"RPUSH", 2, ANY, |keys, arguments| {
        push(keys, arguments, End::Right)
    }),
    (b"LPOP", 1, 1, |keys, key| pop(keys, &key[0], End::Left)),
    (b"RPOP", 1, 1, |keys, key| pop(keys, &key[0], End::Right)),
    (b"LLEN", 1, 1, |keys, key| {
        Ok(integer(list(keys, &key[0])?.map_or(0, |list| list.len())))
    }),
    (b"LRANGE", 3, 3, range),
    (b"SADD", 2, ANY, set_add),
    (b"SPOP", 1, 1, set_pop),
    (b"SCARD", 1, 1, |keys, key| {
        Ok(integer(members(keys, &key[0])?.map_or(0, |set| set.len())))
    }),
    (b"HSET", 3, ANY, hash_set),
    (b"HGET", 2, 2, |keys, arguments| {
        match keys.get(&arguments[0]) {
            None => Ok(Reply::Bulk(None)),
            Some(Value::Hash(hash)) => Ok(Reply::Bulk(hash.get(&arguments[1]).cloned())),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }),
    (b"MSET", 2, ANY, set_many),
    (b"MGET", 1, ANY, get_many),
    (b"DECR", 1, 1, |keys, key| add(keys, &key[0], -1)),
    (b"INCRBY", 2, 2, |keys, arguments| {
        add(keys, &arguments[0], number(&arguments[1])?)
    }),
    (b"DECRBY", 2, 2, |keys, arguments| {
        let less = number(&arguments[1])?.checked_neg();
        add(keys, &arguments[0], less.ok_or(NO_INTEGER)?)
    }),
    (b"DEL", 1, ANY, |keys, names| {
        Ok(integer(names.iter().filter(|key| keys.remove(key)).count()))
    }),
    (b"EXISTS", 1, ANY, |keys, names| {
        Ok(integer(
            names.iter().filter(|key| keys.get(key).is_some()).count(),
        ))
    }),
    (b"EXPIRE", 2, 2, |keys, arguments| {
        let until = after(number(&arguments[1])?.max(0), Duration::from_secs)?;
        Ok(integer(keys.expire_at(&arguments[0], until).into()))
    }),
    (b"TTL", 1, 1, time_to_live),
    (b"ECHO", 1, 1, |_, text| {
        Ok(Reply::Bulk(Some(text[0].clone())))
    }),
    (b"DBSIZE", 0, 0, |keys, _| Ok(integer(keys.len()))),
    (b"FLUSHALL", 0, 1, |keys, _| {
        keys.clear();
        Ok(OK)
    }),
    (b"SELECT", 1, 1, |_, database| match number(&database[0])? {
        0 => Ok(OK),
        _ => Err("ERR DB index is out of range".into()),
    }),
    // Tools ask for these first, and an empty answer is enough for them.
    (b"COMMAND", 0, ANY, |_, _| Ok(Reply::Array(Vec::new()))),
    (b"CONFIG", 2, ANY, |_, arguments| {
        if !arguments[0].eq_ignore_ascii_case(b"get") {
            return Err("ERR the configuration cannot be changed".into());
        }
        let value = Reply::Bulk(Some(Bytes::new()));
        Ok(Reply::Array(vec![
            Reply::Bulk(Some(arguments[1].clone())),
            value,
        ]))
    }),
    (b"QUIT", 0, 0, |_, _| Ok(OK)),
];

fn integer(number: usize) -> Reply {
    Reply::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn number(text: &[u8]) -> Result<i64, String> {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or(NO_INTEGER.into())
}

/// Returns the time that is `count` units from now.
fn after(count: i64, unit: fn(u64) -> Duration) -> Result<Instant, String> {
    let time = u64::try_from(count).ok().map(unit);
    let until = time.and_then(|time| Instant::now().checked_add(time));
    until.ok_or("ERR invalid expire time".into())
}

fn ping(_: &mut Keys, text: &[Bytes]) -> Answer {
    Ok(match text.first() {
        None => Reply::Simple("PONG"),
        Some(text) => Reply::Bulk(Some(text.clone())),
    })
}

fn get(keys: &mut Keys, key: &[Bytes]) -> Answer {
    match keys.get(&key[0]) {
        None => Ok(Reply::Bulk(None)),
        Some(Value::Text(text)) => Ok(Reply::Bulk(Some(text.clone()))),
        Some(_) => Err(WRONG_TYPE.into()),
    }
}

/// `SET key value [NX | XX] [EX seconds | PX milliseconds]`
fn set(keys: &mut Keys, arguments: &[Bytes]) -> Answer {
    let (key, value) = (&arguments[0], &arguments[1]);
    let mut options = arguments[2..].iter();
    let (mut until, mut only_if) = (None, None);
    while let Some(option) = options.next() {
        let unit: fn(u64) -> Duration = match option.to_ascii_uppercase().as_slice() {
            b"EX" if until.is_none() => Duration::from_secs,
            b"PX" if until.is_none() => Duration::from_millis,
            b"NX" if only_if.is_none() => {
                only_if = Some(false);
                continue;
            }
            b"XX" if only_if.is_none() => {
                only_if = Some(true);
                continue;
            }
            _ => return Err(SYNTAX.into()),
        };
        let count = number(options.next().ok_or(SYNTAX)?)?;
        if count <= 0 {
            return Err("ERR invalid expire time in 'set' command".into());
        }
        until = Some(after(count, unit)?);
    }
    let is_there = keys.get(key).is_some();
    if only_if.is_some_and(|wanted| wanted != is_there) {
        return Ok(Reply::Bulk(None));
    }
    keys.set(key, Value::Text(own(value)), until);
    Ok(OK)
}

fn set_many(keys: &mut Keys, arguments: &[Bytes]) -> Answer {
    if arguments.len() % 2 != 0 {
        return Err("ERR wrong number of arguments for 'mset' command".into());
    }
    for pair in arguments.chunks_exact(2) {
        keys.set(&pair[0], Value::Text(own(&pair[1])), None);
    }
    Ok(OK)
}

fn get_many(keys: &mut Keys, names: &[Bytes]) -> Answer {
    let one = |key: &Bytes| match keys.get(key) {
        Some(Value::Text(text)) => Reply::Bulk(Some(text.clone())),
        _ => Reply::Bulk(None),
    };
    Ok(Reply::Array(names.iter().map(one).collect()))
}

fn add(keys: &mut Keys, key: &Bytes, difference: i64) -> Answer {
    match keys.get_or_insert(key, || Value::Text(Bytes::from_static(b"0"))) {
        Value::Text(text) => {
            let sum = number(text)?.checked_add(difference);
            let sum = sum.ok_or("ERR increment or decrement would overflow")?;
            *text = sum.to_string().into();
            Ok(Reply::Integer(sum))
        }
        _ => Err(WRONG_TYPE.into()),
    }
}

fn time_to_live(keys: &mut Keys, key: &[Bytes]) -> Answer {
    Ok(match keys.deadline(&key[0]) {
        None => Reply::Integer(-2),
        Some(None) => Reply::Integer(-1),
        Some(Some(until)) => {
            let left = until.saturating_duration_since(Instant::now());
            Reply::Integer(i64::try_from(left.as_millis().div_ceil(1000)).unwrap_or(i64::MAX))
        }
    })
}

/// An end of a list.
#[derive(Clone, Copy)]
enum End {
    Left,
    Right,
}

type List = std::collections::VecDeque<Bytes>;

fn list<'a>(keys: &'a mut Keys, key: &Bytes) -> Result<Option<&'a mut List>, String> {
    match keys.get(key) {
        None => Ok(None),
        Some(Value::List(list)) => Ok(Some(list)),
        Some(_) => Err(WRONG_TYPE.into()),
    }
}

fn push(keys: &mut Keys, arguments: &[Bytes], end: End) -> Answer {
    let Value::List(list) = keys.get_or_insert(&arguments[0], || Value::List(List::new())) else {
        return Err(WRONG_TYPE.into());
    };
    for value in &arguments[1..] {
        match end {
            End::Left => list.push_front(own(value)),
            End::Right => list.push_back(own(value)),
        }
    }
    Ok(integer(list.len()))
}

fn pop(keys: &mut Keys, key: &Bytes, end: End) -> Answer {
    let Some(list) = list(keys, key)? else {
        return Ok(Reply::Bulk(None));
    };
    let value = match end {
        End::Left => list.pop_front(),
        End::Right => list.pop_back(),
    };
    if list.is_empty() {
        keys.remove(key);
    }
    Ok(Reply::Bulk(value))
}

fn range(keys: &mut Keys, arguments: &[Bytes]) -> Answer {
    let (start, end) = (number(&arguments[1])?, number(&arguments[2])?);
    let Some(list) = list(keys, &arguments[0])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    // A negative index counts from the end.
    let len = list.len() as i64;
    let place = |index: i64| {
        if index < 0 {
            index.saturating_add(len)
        } else {
            index
        }
    };
    let start = place(start).clamp(0, len) as usize;
    let end = (place(end).clamp(-1, len - 1) + 1) as usize;
    let values = list.range(start..end.max(start));
    Ok(Reply::Array(
        values
            .map(|value| Reply::Bulk(Some(value.clone())))
            .collect(),
    ))
}

type Set = std::collections::BTreeSet<Bytes>;

fn members<'a>(keys: &'a mut Keys, key: &Bytes) -> Result<Option<&'a mut Set>, String> {
    match keys.get(key) {
        None => Ok(None),
        Some(Value::Set(set)) => Ok(Some(set)),
        Some(_) => Err(WRONG_TYPE.into()),
    }
}

fn set_add(keys: &mut Keys, arguments: &[Bytes]) -> Answer {
    let Value::Set(set) = keys.get_or_insert(&arguments[0], || Value::Set(Set::new())) else {
        return Err(WRONG_TYPE.into());
    };
    let new = arguments[1..].iter().filter(|value| set.insert(own(value)));
    Ok(integer(new.count()))
}

/// Takes the first member in order, where Redis takes any.
fn set_pop(keys: &mut Keys, key: &[Bytes]) -> Answer {
    let Some(set) = members(keys, &key[0])? else {
        return Ok(Reply::Bulk(None));
    };
    let value = set.pop_first();
    if set.is_empty() {
        keys.remove(&key[0]);
    }
    Ok(Reply::Bulk(value))
}

fn hash_set(keys: &mut Keys, arguments: &[Bytes]) -> Answer {
    if arguments.len() % 2 != 1 {
        return Err("ERR wrong number of arguments for 'hset' command".into());
    }
    let Value::Hash(hash) = keys.get_or_insert(&arguments[0], || Value::Hash(Default::default()))
    else {
        return Err(WRONG_TYPE.into());
    };
    let pairs = arguments[1..].chunks_exact(2);
    let new = pairs.filter(|pair| hash.insert(own(&pair[0]), own(&pair[1])).is_none());
    Ok(integer(new.count()))
}
