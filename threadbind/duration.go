package threadbind

import (
	"math"
	"slices"
	"strings"
	"time"
)

// durationUnit is a unit of durations in commands and texts.
type durationUnit struct {
	letter byte
	length time.Duration
}

// durationUnits returns the units, the largest first.
func durationUnits() []durationUnit {
	return []durationUnit{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}
}

// maxDuration is the longest limit a person can set: a hundred years.
const maxDuration = 36500 * 24 * time.Hour

// ParseDuration reads the value of /session idle and /session max-age. A bare
// number is hours, "0.5" too; "90m", "2h30m", "2h 30m", "1d" and "1.5h" work,
// units from large to small and each once, a fraction in the last. "off",
// "none", "disabled" and 0 return 0, which switches the limit off. Case does
// not matter. Anything between 0 and a second, over a hundred years, or not of
// this form is a *core.Error with the code bad_duration and examples.
func ParseDuration(s string) (time.Duration, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	switch word {
	case "off", "none", "disabled":
		return 0, nil
	}
	d, ok := parseUnits(word)
	if !ok || d > maxDuration || d > 0 && d < time.Second {
		return 0, refuseDuration(s)
	}
	return d, nil
}

// parseUnits reads one or more numbers with units, or one bare number of
// hours.
func parseUnits(s string) (total time.Duration, ok bool) {
	number, rest := cutNumber(s)
	if rest == "" {
		return scale(number, time.Hour)
	}
	for units := durationUnits(); ; number, rest = cutNumber(rest) {
		i := slices.IndexFunc(units, func(u durationUnit) bool { return rest != "" && u.letter == rest[0] })
		if i < 0 {
			return 0, false
		}
		part, ok := scale(number, units[i].length)
		if !ok {
			return 0, false
		}
		total += part // both are at most maxDuration
		units, rest = units[i+1:], strings.TrimLeft(rest[1:], " ")
		switch {
		case rest == "":
			return total, true
		case total > maxDuration || strings.Contains(number, "."):
			return 0, false
		}
	}
}

// cutNumber splits the leading digits and points off.
func cutNumber(s string) (number, rest string) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	return s[:i], s[i:]
}

// scale returns number times unit, rounded down to nanoseconds and at most one
// unit over maxDuration; ok is false for a number that is none, or too large.
func scale(number string, unit time.Duration) (d time.Duration, ok bool) {
	whole, fraction, pointed := strings.Cut(number, ".")
	if whole == "" || pointed && fraction == "" {
		return 0, false
	}
	for i := range len(whole) {
		if d > math.MaxInt64/10-1 {
			return 0, false
		}
		d = d*10 + time.Duration(whole[i]-'0')
	}
	if d > maxDuration/unit {
		return 0, false
	}
	d = time.Duration(int64(d) * int64(unit))
	for i := range len(fraction) {
		if fraction[i] == '.' {
			return 0, false
		}
		d += time.Duration(fraction[i]-'0') * (unit / 10)
		unit /= 10 // below a nanosecond the digits do not count
	}
	return d, true
}
