package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// What follows is for providers that speak to a service over HTTP.

// longestWait bounds what a Retry-After may ask for.
const longestWait = 7 * 24 * time.Hour

// RetryAfter reads how long a service wants to be left alone, 0 if it does
// not say and at most a week: Retry-After-Ms, or Retry-After in seconds or as
// a date.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	wait := func(n float64, unit time.Duration) time.Duration {
		if n != n || n <= 0 { // NaN is written by no service, but parses
			return 0
		}
		return time.Duration(min(n*float64(unit), float64(longestWait)))
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms, time.Millisecond)
	}
	after := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return wait(s, time.Second)
	}
	if date, err := http.ParseTime(after); err == nil {
		return min(max(date.Sub(now), 0), longestWait)
	}
	return 0
}

// Redacted takes a key out of an error's text; the errors that it wraps can
// still be found. Without the key in it, err is returned as it is.
func Redacted(err error, key string) error {
	if key == "" || !strings.Contains(err.Error(), key) {
		return err
	}
	return &redactedError{strings.ReplaceAll(err.Error(), key, "***"), err}
}

// redactedError is err with another text.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }

var (
	goodID  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	badName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// SentID returns the id of a call in a form that every service takes; equal
// ids stay equal, so call and result still belong together.
func SentID(id string) string {
	if goodID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// ShortIDs returns the rule for services that take call ids of exactly nine
// letters and digits. It is for one request: different ids stay different, and
// equal ones equal.
func ShortIDs() func(id string) string {
	given, taken := make(map[string]string), make(map[string]bool)
	return func(id string) string {
		if short, ok := given[id]; ok {
			return short
		}
		short := shortened(id, 0)
		for n := 1; taken[short]; n++ {
			short = shortened(id, n)
		}
		given[id], taken[short] = short, true
		return short
	}
}

// shortened returns nine letters and digits for an id, others for each n.
func shortened(id string, n int) string {
	if n == 0 && shortID.MatchString(id) {
		return id
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", n, id))
	v := binary.BigEndian.Uint64(sum[:])
	out := make([]byte, 9)
	for i := range out {
		out[i], v = digits[v%uint64(len(digits))], v/uint64(len(digits))
	}
	return string(out)
}

// SentName returns the name of a call, which a model may have made up, in a
// form that services take back.
func SentName(name string) string {
	name = badName.ReplaceAllString(name, "_")
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

// SentArgs returns the arguments of a call as they are sent back: bad ones,
// which services refuse, as {}. The result of the call tells what was wrong.
func SentArgs(c core.ToolCall) json.RawMessage {
	if _, bad := BadArgs(c); bad || len(c.Args) == 0 {
		return json.RawMessage(`{}`)
	}
	return c.Args
}
