package agent

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skein-bot/skein/core/model"
)

// failedCall is a call that no model answered.
type failedCall struct {
	asked int   // how many models
	err   error // of the last one
}

// Error returns the error of the last model.
func (e *failedCall) Error() string { return e.err.Error() }

// Unwrap returns the error of the last model.
func (e *failedCall) Unwrap() error { return e.err }

// explain says in one line for people what went wrong with a model call, and
// what to do about it.
func explain(err error) string {
	e := new(model.Error)
	if !errors.As(err, &e) {
		return err.Error()
	}
	prefix := "the model did not answer: "
	if f := new(failedCall); errors.As(err, &f) && f.asked > 1 {
		prefix = fmt.Sprintf("none of %d models answered; the last: ", f.asked)
	}
	return prefix + why(e)
}

// why words one failure.
func why(e *model.Error) string {
	switch e.Class {
	case model.RateLimited:
		if e.After > 0 {
			return "it takes no more requests for " + roughly(e.After) + "; try again then"
		}
		return "it is rate limited; try again in a few minutes"
	case model.Overloaded:
		if e.Status != 0 && e.Status < 520 && e.Status != http.StatusServiceUnavailable {
			return fmt.Sprintf("its service has trouble (status %d); try again in a few minutes", e.Status)
		}
		return "it is overloaded; try again in a few minutes"
	case model.Overflow:
		return "the conversation is longer than it can read; start afresh with /new"
	case model.Auth:
		return whyAuth(e)
	case model.BadRequest:
		return whyBadRequest(e)
	case model.Refused:
		return "it declined to answer; ask in other words, or start afresh with /new"
	case model.Network:
		return whyNetwork(e)
	case model.Truncated:
		return "its answer broke off; try again"
	}
	return "the call failed; try again, and tell an operator if it lasts"
}

func whyAuth(e *model.Error) string {
	switch {
	case errors.Is(e, model.ErrNoCredit):
		return "its account has no credit left; an operator must look at the bill"
	case e.Status == http.StatusForbidden:
		return "its credentials do not allow it; an operator must check what the key may use"
	}
	return "its credentials were refused; an operator must check the configured key"
}

func whyBadRequest(e *model.Error) string {
	switch {
	case errors.Is(e, model.ErrNoService):
		return "what answers at its address is no model service; an operator must check its base URL"
	case errors.Is(e, model.ErrTooLarge):
		return "its answer was too large to be used; ask for less at once"
	case e.Status == http.StatusNotFound:
		return "its service does not know it; an operator must check the model's name"
	}
	return "it refused the request as malformed; start afresh with /new, and tell an operator if that does not help"
}

func whyNetwork(e *model.Error) string {
	if errors.Is(e, model.ErrStalled) {
		return "it was silent for too long; try again in a few minutes"
	}
	return "it could not be reached; try again in a few minutes"
}

// roughly writes a wait for people: a second or minute more than not enough.
func roughly(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}} {
		if d >= 2*u.unit {
			return fmt.Sprintf("%d %s", (d+u.unit-1)/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d seconds", max(2, (d+time.Second-1)/time.Second))
}
