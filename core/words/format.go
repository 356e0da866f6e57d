package words

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// unit is a unit of lengths of time.
type unit struct {
	length time.Duration
	text   func(l Language, n int) string
}

func units() []unit {
	return []unit{
		{24 * time.Hour, Language.UnitDay}, {time.Hour, Language.UnitHour},
		{time.Minute, Language.UnitMinute}, {time.Second, Language.UnitSecond},
	}
}

// Duration writes d exactly to the second and rounded up: "45m", "2h 30m",
// "3d". Zero and less is "0s". It is what a {d:duration} is put in as.
func (l Language) Duration(d time.Duration) string {
	if rest := d % time.Second; rest > 0 && d <= math.MaxInt64-time.Second {
		d += time.Second - rest
	}
	return l.spell(d, len(units()))
}

// age writes d with at most two units that follow each other, rounded down:
// "12s", "2h 30m", "3d".
func (l Language) age(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		d = d.Truncate(time.Hour)
	case d >= time.Hour:
		d = d.Truncate(time.Minute)
	case d >= time.Minute:
		d = d.Truncate(time.Minute)
	}
	return l.spell(d, 2)
}

// spell writes at most most units of d.
func (l Language) spell(d time.Duration, most int) string {
	var parts []string
	for _, u := range units() {
		if n := int(d / u.length); n > 0 && len(parts) < most {
			parts = append(parts, u.text(l, n))
			d %= u.length
		}
	}
	if len(parts) == 0 {
		return l.UnitSecond(0)
	}
	return strings.Join(parts, " ")
}

// Moment writes a time of day with seconds, its date and its zone. It is what a
// {at:moment} is put in as.
func (l Language) Moment(t time.Time) string { return l.time(t, true) }

// time writes a time of day with its date and zone.
func (l Language) time(t time.Time, seconds bool) string {
	digits := func(n int) string { return fmt.Sprintf("%02d", n) }
	day, month, year := digits(t.Day()), digits(int(t.Month())), fmt.Sprintf("%04d", t.Year())
	if seconds {
		return l.DateSecond(day, digits(t.Hour()), digits(t.Minute()), month, digits(t.Second()), year, t.Format("MST"))
	}
	return l.DateMinute(day, digits(t.Hour()), digits(t.Minute()), month, year, t.Format("MST"))
}

// Until returns how long it is from now to at, for a {d:duration}: rounded up
// to minutes from an hour on and to hours from a day on.
func Until(now, at time.Time) time.Duration {
	d := max(at.Sub(now), 0)
	to := time.Duration(1)
	switch {
	case d >= 24*time.Hour:
		to = time.Hour
	case d >= time.Hour:
		to = time.Minute
	}
	if rest := d % to; rest != 0 && d <= math.MaxInt64-to {
		d += to - rest
	}
	return d
}
