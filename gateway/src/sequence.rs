//! The messages of one host at a receiver: received, repeated, missing.
//!
//! A pure state machine. Its input is the heads of frames and the items in them, in any order, and
//! possibly more than once. Its output is the messages to deliver, and the gaps to report before
//! them.
//!
//! **The rule.** Each message of the sender's segment is delivered once or counted in one gap, in
//! the sender's order, from the first that this receiver has seen.
//!
//! 1. Within one run of the sending gateway, messages have consecutive *ordinals*, and
//!    `expected` is the next. An item before it is a repeat. An item after it is early, and is
//!    not used: the sender keeps it, or says with `base` that it does not.
//! 2. `base` above `expected`: the sender will never send the messages between. They are a gap,
//!    except for those that the receiver already knew.
//! 3. A new run counts anew, and reads again what its segment still holds. The *position* of a
//!    message belongs to the segment and outlives the run. So the next position shows which messages
//!    are repeats, and how many lie between it and the new run's `base`.
//! 4. A receiver that starts again knows the position from its record (`record.rs`), and treats
//!    the first frame as that of a new run.
//! 5. A run that was replaced stays replaced, so a late frame of it changes nothing. The importer
//!    judges which run may replace another one: see `runs.rs`.
//! 6. A new segment begins with its first message. How many messages of the earlier one are missing
//!    is unknown: [`Counts::segments`] counts such segments.

use std::collections::VecDeque;

use crate::wire::{Head, LIMIT};

/// Number of replaced runs that the receiver remembers. For a frame of an older run to arrive, the
/// network would have to delay it over as many restarts of the sending gateway.
const RETIRED: usize = 64;

/// The next message of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// The number of the segment.
    pub epoch: u64,
    /// The position of the next message in it.
    pub position: u64,
}

/// The decision about an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is the next. This many messages before it are missing.
    Next {
        /// The number of missing messages.
        gap: u64,
    },
    /// It was delivered, or reported as missing.
    Repeat,
    /// Other items come before it.
    Early,
}

/// The reason why the receiver does not use a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The frame is of a run that was replaced.
    Stale,
    /// One run has only one segment.
    Epoch,
}

/// Counters of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Messages that were delivered.
    pub received: u64,
    /// Messages that were reported as missing.
    pub missing: u64,
    /// Messages that came again.
    pub repeats: u64,
    /// Number of times that the sender had a new segment. Messages that only the earlier segment had,
    /// and that no gateway has read, are in no count.
    pub segments: u64,
}

impl Counts {
    /// Saturates: a hostile sender can report more missing messages than a frame can hold.
    fn add_missing(&mut self, gap: u64) {
        self.missing = self.missing.saturating_add(gap).min(LIMIT - 1);
    }
}

/// The state of a receiver.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    known: Option<Known>,
    run: Option<u128>,
    round: u64,
    retired: VecDeque<u128>,
    expected: u64,
    /// Returns to `false` with a new run, which reads known messages again.
    has_delivered: bool,
    counts: Counts,
}

impl Tracker {
    /// Creates the state of a receiver that resumes at `known`, or that begins with the first
    /// message that it sees.
    pub fn new(known: Option<Known>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// Takes the head of a frame. Returns the number of missing messages that can no longer come. The
    /// caller must report them, and then call [`passed`](Self::passed).
    ///
    /// # Errors
    ///
    /// [`Refused`]: the frame must not be used.
    pub fn frame(&mut self, head: &Head) -> Result<u64, Refused> {
        if self.run == Some(head.run) {
            self.round_began(head.round);
            return match self.known {
                Some(known) if known.epoch == head.epoch => {
                    // While a new run repeats known messages, ordinals count those too, and
                    // positions do not. Otherwise positions count places without a message.
                    let ordinals = head.base.saturating_sub(self.expected);
                    Ok(ordinals.min(head.base_position.saturating_sub(known.position)))
                }
                _ => Err(Refused::Epoch),
            };
        }
        if self.retired.contains(&head.run) {
            return Err(Refused::Stale);
        }
        if let Some(run) = self.run.replace(head.run) {
            self.retired.push_back(run);
            if self.retired.len() > RETIRED {
                self.retired.pop_front();
            }
        }
        self.round = head.round;
        self.has_delivered = false;
        self.expected = head.base;
        Ok(match self.known {
            None => {
                self.expected = head.ordinal;
                self.known = Some(Known {
                    epoch: head.epoch,
                    position: head.position,
                });
                0
            }
            Some(known) if known.epoch == head.epoch => {
                head.base_position.saturating_sub(known.position)
            }
            Some(_) => {
                self.counts.segments += 1;
                self.known = Some(Known {
                    epoch: head.epoch,
                    position: 0,
                });
                head.base_position
            }
        })
    }

    /// Notes the round of a frame of the known run: see `window.rs`.
    pub fn round_began(&mut self, round: u64) {
        self.round = self.round.max(round);
    }

    /// Notes that the gap which [`frame`](Self::frame) has returned was reported.
    pub fn passed(&mut self, head: &Head, gap: u64) {
        self.counts.add_missing(gap);
        self.expected = self.expected.max(head.base);
        if let Some(known) = &mut self.known {
            known.position = known.position.max(head.base_position);
        }
    }

    /// Judges an item of a frame that was not refused: `ordinal` is that of the first of the
    /// `lost` messages before it, `position` is its own.
    pub fn item(&self, ordinal: u64, lost: u32, position: u64) -> Verdict {
        let own = ordinal + u64::from(lost);
        if own < self.expected {
            return Verdict::Repeat;
        }
        if ordinal > self.expected {
            return Verdict::Early;
        }
        let next = self.known.map_or(position, |known| known.position);
        match position.checked_sub(next) {
            // A new run has read the message again.
            None => Verdict::Repeat,
            Some(distance) => Verdict::Next {
                gap: distance.min(lost.into()),
            },
        }
    }

    /// Returns `true` if an item of the run cannot be at this place: a later message of a run has a
    /// later position. Either this item or an earlier one of the run is forged or wrong.
    pub fn contradicts(&self, ordinal: u64, lost: u32, position: u64) -> bool {
        self.has_delivered
            && ordinal + u64::from(lost) >= self.expected
            && self.known.is_some_and(|known| position < known.position)
    }

    /// Notes that a gap before an item was reported.
    pub fn gap_reported(&mut self, gap: u64, position: u64) {
        self.counts.add_missing(gap);
        if let Some(known) = &mut self.known {
            known.position = position;
        }
    }

    /// Notes that an item was delivered.
    pub fn delivered(&mut self, ordinal: u64, lost: u32, position: u64) {
        self.counts.received += 1;
        self.has_delivered = true;
        self.expected = ordinal + u64::from(lost) + 1;
        if let Some(known) = &mut self.known {
            known.position = position + 1;
        }
    }

    /// Notes that an item was a repeat.
    pub fn repeated(&mut self, ordinal: u64, lost: u32) {
        self.counts.repeats += 1;
        let next = ordinal + u64::from(lost) + 1;
        if ordinal <= self.expected && next > self.expected {
            self.expected = next;
        }
    }

    /// Returns the next ordinal, and the run in which it counts.
    pub fn expected(&self) -> (Option<u128>, u64) {
        (self.run, self.expected)
    }

    /// Returns the highest [`Head::round`] of the run.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Returns the next message, if any was seen.
    pub fn known(&self) -> Option<Known> {
        self.known
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
