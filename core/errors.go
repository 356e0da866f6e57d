package core

import (
	"errors"
	"fmt"
	"time"
)

// Error is an error with a stable code, for models, people and programs. Text
// says what is wrong; Remedy what to do about it.
type Error struct {
	Code   string // stable, lower-case with underscores, listed in docs/codes.md
	Text   string
	Remedy string
	Err    error // the cause, if any
	// Wording words Text and Remedy, which are English, in the other languages
	// of the catalogue (core/words); nil if there is none.
	Wording Wording
}

// Wording is what an error says to people, in every language.
type Wording interface {
	// Words returns the text and the remedy in the language with a BCP 47 tag,
	// in English where there is none.
	Words(tag string) (text, remedy string)
}

// Errorf returns an *Error with a formatted text.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// WithRemedy returns e with its remedy set. It has no other wording then.
func (e *Error) WithRemedy(format string, args ...any) *Error {
	e.Wording = nil
	e.Remedy = fmt.Sprintf(format, args...)
	return e
}

// Error returns the text and the remedy, without the code.
func (e *Error) Error() string {
	s := e.Text
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns the code of the first *Error in err's chain, or "".
func ErrorCode(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// SendClass says what a failed send means and what may be done about it.
type SendClass string

// The classes of send errors. Adapters classify; the runtime decides.
const (
	// SendRetryable: nothing was sent; try again, after RetryAfter if set.
	SendRetryable SendClass = "retryable"
	// SendAmbiguous: the message may have been sent (the answer was lost).
	SendAmbiguous SendClass = "ambiguous"
	// SendGone: the thread or conversation no longer exists.
	SendGone SendClass = "gone"
	// SendClosed: the thread is closed or locked, and may be reopened.
	SendClosed SendClass = "closed"
	// SendForbidden: the bot may not write there at present.
	SendForbidden SendClass = "forbidden"
	// SendInvalid: the platform refuses this message as it is.
	SendInvalid SendClass = "invalid"
	// SendTooLarge: the message or file is over the platform's limit.
	SendTooLarge SendClass = "too_large"
	// SendAuth: the account's credentials are refused.
	SendAuth SendClass = "auth"
	// SendConflict: another process uses the same account.
	SendConflict SendClass = "conflict"
)

// Permanent reports whether trying the same send again cannot help.
func (c SendClass) Permanent() bool {
	switch c {
	case SendGone, SendClosed, SendForbidden, SendInvalid, SendTooLarge:
		return true
	}
	return false
}

// SendError is what Adapter.Send and the other calls to a platform return
// when they fail. An error of another type counts as SendAmbiguous, because
// then nobody knows.
type SendError struct {
	Class      SendClass
	RetryAfter time.Duration // with SendRetryable: the platform's own wait, 0 if it gave none
	Err        error
}

// Error returns the class and the cause.
func (e *SendError) Error() string {
	if e.Err == nil {
		return string(e.Class)
	}
	return string(e.Class) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// ClassifySend returns err's class and wait.
func ClassifySend(err error) (SendClass, time.Duration) {
	var e *SendError
	if errors.As(err, &e) {
		return e.Class, e.RetryAfter
	}
	return SendAmbiguous, 0
}
