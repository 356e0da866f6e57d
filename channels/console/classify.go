package console

import (
	"errors"
	"net/http"

	"github.com/skein-bot/skein/core"
)

// classify turns an error of a Backend into a *core.SendError. What is neither
// a refusal nor known to have stayed here is ambiguous.
func classify(err error) error {
	if err == nil {
		return nil
	}
	out := &core.SendError{Class: core.SendAmbiguous, Err: err}
	refusal, transport := new(Error), new(transportError)
	switch {
	case errors.As(err, &refusal):
		out.Class = refusal.class()
		if out.Class == core.SendRetryable {
			out.RetryAfter = refusal.RetryAfter
		}
	case errors.As(err, &transport) && !transport.sent:
		out.Class = core.SendRetryable
	}
	return out
}

// classifyPoll is classify for a call without an effect: what got lost may be
// asked again.
func classifyPoll(err error) error {
	if class, _ := core.ClassifySend(classify(err)); class == core.SendAmbiguous {
		return &core.SendError{Class: core.SendRetryable, Err: err}
	}
	return classify(err)
}

// superseded reports whether another poll took the account over. That may have
// been the last one of a process that was killed, still on its way when ours
// began: nobody is behind it, and one more poll has the account for good. A
// client that lives takes it over again, once, and then we have lost it.
func superseded(err error) bool {
	refusal := new(Error)
	return errors.As(err, &refusal) && refusal.Code == CodeSuperseded
}

// class says what a refusal means. The platform answers 5xx only before it has
// done anything.
func (e *Error) class() core.SendClass {
	switch e.Status {
	case http.StatusUnauthorized:
		return core.SendAuth
	case http.StatusForbidden:
		return core.SendForbidden
	case http.StatusNotFound, http.StatusGone:
		if e.Code == CodeUnknownMessage {
			return core.SendInvalid // the place is still there
		}
		return core.SendGone
	case http.StatusConflict:
		return core.SendConflict
	case http.StatusRequestEntityTooLarge:
		return core.SendTooLarge
	case http.StatusLocked:
		return core.SendClosed
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return core.SendRetryable
	}
	if e.Status >= 500 {
		return core.SendRetryable
	}
	return core.SendInvalid
}
