//! The clock, so that everything else is reproducible.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time. Tests use [`Clock::Fixed`].
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// Always this many seconds since 1970-01-01 UTC.
    Fixed(u64),
}

/// Seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Timestamp(pub u64);

impl Clock {
    /// The time now.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(self) -> Timestamp {
        match self {
            Self::System => Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())),
            Self::Fixed(seconds) => Timestamp(seconds),
        }
    }

    /// Starts a stopwatch. Measured durations are real even under a fixed clock: limits must hold in tests too.
    pub fn stopwatch(self) -> Stopwatch {
        Stopwatch(Instant::now())
    }
}

/// Measures elapsed time.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

impl Timestamp {
    /// `YYYY-MM-DD HH:MM:SSZ`, always UTC: no time zone database, no locale.
    pub fn to_utc(self) -> String {
        let (days, rest) = (self.0 / 86_400, self.0 % 86_400);
        // Days to civil date, after Howard Hinnant's public-domain derivation (era of 400 years from 0000-03-01).
        let z = days + 719_468;
        let era = z / 146_097;
        let doe = z % 146_097;
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = doy - (153 * mp + 2) / 5 + 1;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        let year = yoe + era * 400 + u64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_print_as_utc() {
        assert_eq!(Timestamp(0).to_utc(), "1970-01-01 00:00:00Z");
        assert_eq!(Timestamp(951_782_400).to_utc(), "2000-02-29 00:00:00Z");
        assert_eq!(Timestamp(1_796_083_199).to_utc(), "2026-11-30 23:59:59Z");
    }
}
