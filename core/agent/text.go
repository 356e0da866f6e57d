package agent

import (
	"errors"
	"net/http"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/words"
)

// explain says in one line for people what went wrong with a model call, and
// what to do about it. It is the English text: details are kept in it.
func explain(err error) string {
	configured := new(core.Error)
	if errors.As(err, &configured) { // no call was made
		return configured.Error()
	}
	e := new(model.Error)
	if !errors.As(err, &e) {
		return err.Error()
	}
	var w words.Language
	switch e.Class {
	case model.RateLimited:
		if e.After > 0 {
			return w.DetailModelRateLimitedFor(e.After)
		}
		return w.DetailModelRateLimited()
	case model.Overloaded:
		if e.Status != 0 && e.Status != http.StatusServiceUnavailable && e.Status != statusOverloaded {
			return w.DetailModelTrouble(e.Status)
		}
		return w.DetailModelOverloaded()
	case model.Overflow:
		if long := new(tooLongError); errors.As(e, &long) && long.fixed > long.window/2 {
			return w.DetailModelFixedOverflow(long.fixed, long.window)
		}
		return w.DetailModelOverflow()
	case model.Auth:
		return explainAuth(e)
	case model.BadRequest:
		return explainBadRequest(e)
	case model.Refused:
		return w.DetailModelRefused()
	case model.Network:
		if errors.Is(e, model.ErrStalled) {
			return w.DetailModelSilent()
		}
		return w.DetailModelNetwork()
	case model.Truncated:
		return w.DetailModelTruncated()
	}
	return w.DetailModelFailed()
}

// statusOverloaded is the status by which Anthropic says that it is overloaded.
const statusOverloaded = 529

func explainAuth(e *model.Error) string {
	var w words.Language
	switch {
	case errors.Is(e, model.ErrNoCredit):
		return w.DetailModelNoCredit()
	case e.Status == http.StatusForbidden:
		return w.DetailModelForbidden()
	}
	return w.DetailModelAuth()
}

func explainBadRequest(e *model.Error) string {
	var w words.Language
	switch {
	case errors.Is(e, model.ErrNoService):
		return w.DetailModelNoService()
	case errors.Is(e, model.ErrTooLarge):
		return w.DetailModelTooLarge()
	case e.Status == http.StatusNotFound:
		return w.DetailModelUnknown()
	}
	return w.DetailModelBadRequest()
}

// ended words what ended a turn's context; the reason of a timeout names the
// timer.
func (t *turn) ended(cause error) string {
	switch {
	case errors.Is(cause, errRunTimeout):
		return words.English().DetailRunTimeout(t.r.opts.World.Now().Sub(t.run.StartedAt))
	case errors.Is(cause, errTurnTimeout):
		return words.English().DetailTurnTimeout()
	case errors.Is(cause, kernel.ErrInterrupted):
		return words.English().DetailNewerMessage()
	case errors.Is(cause, kernel.ErrStopped):
		return words.English().DetailStopped()
	}
	return cause.Error()
}
