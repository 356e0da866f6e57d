package intake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func zone(t require.TestingT, name string) *time.Location {
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func TestResetDue(t *testing.T) {
	t.Parallel()
	idle := ResetRules{Mode: ResetIdle, Idle: time.Hour}
	daily := func(hour int) ResetRules { return ResetRules{Mode: ResetDaily, AtHour: hour} }
	for _, c := range []struct {
		name            string
		rules           ResetRules
		zone            string
		asked, answered string
		now             string
		due             bool
	}{
		{"none", ResetRules{Mode: ResetNone, Idle: time.Hour}, "UTC", "2026-01-05T09:00:00Z", "", "2027-01-05T09:00:00Z", false},
		{"no mode", ResetRules{Idle: time.Hour}, "UTC", "2026-01-05T09:00:00Z", "", "2027-01-05T09:00:00Z", false},
		{"a mode of another build", ResetRules{Mode: "weekly", Idle: time.Hour}, "UTC", "2026-01-05T09:00:00Z", "", "2027-01-05T09:00:00Z", false},
		{"never used, idle", idle, "UTC", "", "", "2026-01-05T09:00:00Z", false},
		{"never used, daily", daily(4), "UTC", "", "", "2026-01-05T09:00:00Z", false},

		{"idle, a millisecond before", idle, "UTC", "2026-01-05T09:00:00Z", "", "2026-01-05T09:59:59.999Z", false},
		{"idle, at the deadline", idle, "UTC", "2026-01-05T09:00:00Z", "", "2026-01-05T10:00:00Z", true},
		{"idle since the answer", idle, "UTC", "2026-01-05T09:00:00Z", "2026-01-05T11:00:00Z", "2026-01-05T11:59:59Z", false},
		{"idle, the clock went back", idle, "UTC", "2026-01-05T09:00:00Z", "", "2026-01-04T09:00:00Z", false},
		{"idle without a time", ResetRules{Mode: ResetIdle}, "UTC", "2026-01-05T09:00:00Z", "", "2027-01-05T09:00:00Z", false},

		{"daily, the same day", daily(4), "UTC", "2026-01-05T04:00:00Z", "", "2026-01-06T03:59:59Z", false},
		{"daily, the next", daily(4), "UTC", "2026-01-05T04:00:00Z", "", "2026-01-06T04:00:00Z", true},
		{"daily, asked a moment before", daily(4), "UTC", "2026-01-05T03:59:59Z", "2026-01-05T04:00:30Z", "2026-01-05T05:00:00Z", true},
		{"daily, weeks later", daily(4), "UTC", "2026-01-05T04:00:00Z", "", "2026-02-06T03:00:00Z", true},
		{"daily at midnight", daily(0), "UTC", "2026-01-05T23:59:59Z", "", "2026-01-06T00:00:00Z", true},
		{"daily where the agent lives", daily(4), "Asia/Tokyo", "2026-01-05T18:59:00Z", "", "2026-01-05T19:00:00Z", true},
		{"not where the host is", daily(4), "Asia/Tokyo", "2026-01-05T19:00:00Z", "", "2026-01-06T04:00:00Z", false},

		// Clocks go forward from 2:00 to 3:00 on 29 March, at 1:00 UTC.
		{"the hour is left out, before", daily(2), "Europe/Berlin", "2026-03-28T12:00:00Z", "", "2026-03-29T00:59:59Z", false},
		{"the hour is left out", daily(2), "Europe/Berlin", "2026-03-29T00:59:59Z", "", "2026-03-29T01:00:00Z", true},
		{"the day after", daily(2), "Europe/Berlin", "2026-03-29T01:00:00Z", "", "2026-03-29T23:59:59Z", false},
		{"the day after, at the hour", daily(2), "Europe/Berlin", "2026-03-29T01:00:00Z", "", "2026-03-30T00:00:00Z", true},
		{"later that day, summer time", daily(4), "Europe/Berlin", "2026-03-29T01:59:59Z", "", "2026-03-29T02:00:00Z", true},
		// Clocks go back from 3:00 to 2:00 on 25 October, at 1:00 UTC.
		{"the hour comes twice, the first", daily(2), "Europe/Berlin", "2026-10-24T12:00:00Z", "", "2026-10-25T00:00:00Z", true},
		{"the hour comes twice, the second", daily(2), "Europe/Berlin", "2026-10-25T00:00:00Z", "", "2026-10-25T01:00:00Z", false},
		{"a day of 25 hours", daily(4), "Europe/Berlin", "2026-10-24T02:00:00Z", "", "2026-10-25T02:59:59Z", false},
		{"a day of 25 hours is over", daily(4), "Europe/Berlin", "2026-10-24T02:00:00Z", "", "2026-10-25T03:00:00Z", true},
		// Clocks went back from 0:01 to 23:01 of the day before.
		{"midnight comes twice", daily(0), "America/St_Johns", "2010-11-07T02:00:00Z", "", "2010-11-07T02:31:30Z", true},
		{"midnight comes twice, the second", daily(0), "America/St_Johns", "2010-11-07T02:30:30Z", "", "2010-11-07T04:00:00Z", false},
		// There was no 30 December.
		{"a day that did not exist", daily(4), "Pacific/Apia", "2011-12-30T08:00:00Z", "", "2011-12-30T10:00:00Z", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := func(text string) core.Millis {
				if text == "" {
					return 0
				}
				x, err := time.Parse(time.RFC3339, text)
				require.NoError(t, err)
				return core.ToMillis(x)
			}
			require.Equal(t, c.due, c.rules.Due(Use{at(c.asked), at(c.answered)}, at(c.now), zone(t, c.zone)))
		})
	}
}

// quarter divides every change of an offset in the zones below.
const quarter = 15 * time.Minute

// dayOf is the latest day whose hour clocks have shown up to t: the running
// maximum of what they show, hour by hour back, looked at every quarter of an
// hour.
func dayOf(t time.Time, hour int) time.Time {
	var latest time.Time
	for u := t.Add(-50 * time.Hour).Truncate(quarter); ; u = u.Add(quarter) {
		if u.After(t) {
			u = t
		}
		_, offset := u.Zone()
		shown := u.UTC().Add(time.Duration(offset)*time.Second - time.Duration(hour)*time.Hour).Truncate(24 * time.Hour)
		if shown.After(latest) {
			latest = shown
		}
		if !u.Before(t) {
			return latest
		}
	}
}

// TestResetAgreesWithTheClock: a daily reset is due exactly where clocks have
// come to the hour of another day since, whatever they did in between.
func TestResetAgreesWithTheClock(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca"}
	// Around changes of the clock, and at other times.
	var moments []time.Time
	for year := 2008; year < 2030; year++ {
		moments = append(moments, time.Date(year, 3, 20, 0, 0, 0, 0, time.UTC), time.Date(year, 10, 15, 0, 0, 0, 0, time.UTC), time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC))
	}
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		asked := rapid.SampledFrom(moments).Draw(t, "from").Add(time.Duration(rapid.IntRange(0, 20*24*3600).Draw(t, "seconds")) * time.Second)
		now := asked.Add(time.Duration(rapid.IntRange(0, 60*3600).Draw(t, "later")) * time.Second)
		rules := ResetRules{Mode: ResetDaily, AtHour: rapid.IntRange(0, 23).Draw(t, "hour")}
		want := dayOf(now.In(z), rules.AtHour).After(dayOf(asked.In(z), rules.AtHour))
		require.Equal(t, want, rules.Due(Use{Asked: core.ToMillis(asked)}, core.ToMillis(now), z), "%s to %s", asked.In(z), now.In(z))
	})
}
