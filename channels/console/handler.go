package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// bodyLimit is the largest request body in bytes: the longest post with every
// character escaped would be larger, but is no text that anybody writes.
const bodyLimit = 2 * PostLimit

// Wait limits how long a poll or a feed waits over HTTP before it answers with
// nothing, so that a proxy does not cut it. The zero value does not limit it.
type Wait struct {
	// Clock is the machine's clock, also where the hub has another: the other
	// side's patience is real.
	Clock core.Clock
	For   time.Duration
}

func (w Wait) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.Clock == nil || w.For <= 0 {
		return context.WithCancel(ctx)
	}
	return w.Clock.WithTimeout(ctx, w.For)
}

// Handler serves both sides of a hub over HTTP, for bots that live elsewhere.
// Every call is a POST of a JSON object and answers with one: the methods of
// Backend under /v1/bot/ (poll, send, edit, delete, open-thread, close-thread,
// find-thread, probe, history, typing, fetch), those of People as in PeopleHandler. A refusal
// has its status and a body {"error": {"code", "text", "retryAfterMs"}}. The
// handler does not ask who is calling: put it behind something that does.
func Handler(b Backend, p People, wait Wait) http.Handler {
	mux := http.NewServeMux()
	serve(mux, "bot/poll", func(ctx context.Context, r PollRequest) (Updates, error) {
		limited, cancel := wait.limit(ctx)
		defer cancel()
		updates, err := b.Poll(limited, r)
		if over(ctx, limited, err) {
			return Updates{Updates: []Update{}}, nil
		}
		return updates, err
	})
	serve(mux, "bot/send", b.Send)
	serve(mux, "bot/edit", b.Edit)
	serve(mux, "bot/delete", b.Delete)
	serve(mux, "bot/open-thread", b.OpenThread)
	serve(mux, "bot/close-thread", b.CloseThread)
	serve(mux, "bot/find-thread", b.FindThread)
	serve(mux, "bot/probe", b.Probe)
	serve(mux, "bot/history", b.History)
	serve(mux, "bot/typing", b.Typing)
	serve(mux, "bot/fetch", b.Fetch)
	servePeople(mux, p, wait)
	return mux
}

// PeopleHandler serves the people's side only, for terminals: the methods of
// People under /v1/people/ (post, change, open-chat, open-topic, change-thread, feed,
// conversations, threads), in the form that Handler describes.
func PeopleHandler(p People, wait Wait) http.Handler {
	mux := http.NewServeMux()
	servePeople(mux, p, wait)
	return mux
}

func servePeople(mux *http.ServeMux, p People, wait Wait) {
	serve(mux, "people/post", p.Post)
	serve(mux, "people/change", p.Change)
	serve(mux, "people/open-chat", p.OpenChat)
	serve(mux, "people/open-topic", p.OpenTopic)
	serve(mux, "people/change-thread", p.ChangeThread)
	serve(mux, "people/conversations", p.Conversations)
	serve(mux, "people/threads", p.Threads)
	serve(mux, "people/feed", func(ctx context.Context, r FeedRequest) (Feed, error) {
		limited, cancel := wait.limit(ctx)
		defer cancel()
		feed, err := p.Feed(limited, r)
		if over(ctx, limited, err) {
			r.Wait = false
			return p.Feed(ctx, r)
		}
		return feed, err
	})
}

// over reports whether a call ended because of the wait limit alone.
func over(ctx, limited context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && limited.Err() != nil && !errors.As(err, new(*Error))
}

// serve registers one method.
func serve[Req, Res any](mux *http.ServeMux, name string, method func(context.Context, Req) (Res, error)) {
	mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		var req Req
		if err := decode(w, r, &req); err != nil {
			WriteError(w, err)
			return
		}
		res, err := method(r.Context(), req)
		if err != nil {
			WriteError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(res) // the caller is gone
	})
}

// decode reads a request strictly: an unknown field is refused.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	switch tooLarge := new(http.MaxBytesError); {
	case err == nil:
		return nil
	case errors.As(err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the request is larger than %d bytes", bodyLimit)
	default:
		return invalid("the request is not what this method takes: %v", err)
	}
}

// errorBody is the body of a refusal.
type errorBody struct {
	Error struct {
		Error
		RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
	} `json:"error"`
}

// WriteError answers a request with a refusal. An error that is not an *Error
// becomes status 500.
func WriteError(w http.ResponseWriter, err error) {
	if errors.Is(err, context.Canceled) {
		err = errClosed() // the server stops, or the caller is gone and reads nothing
	}
	e := new(Error)
	if !errors.As(err, &e) {
		e = refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	var body errorBody
	body.Error.Error = *e
	body.Error.RetryAfterMs = e.RetryAfter.Milliseconds()
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(body) // the caller is gone
}

// readError reads a refusal. A body of another form, such as a proxy's page,
// leaves the status to speak for itself.
func readError(resp *http.Response, body []byte) *Error {
	e := refuse(resp.StatusCode, "", "%s", resp.Status)
	var parsed errorBody
	if err := json.Unmarshal(body, &parsed); err == nil && parsed.Error.Code != "" {
		*e = parsed.Error.Error
		e.Status = resp.StatusCode
		e.RetryAfter = time.Duration(parsed.Error.RetryAfterMs) * time.Millisecond
	}
	if seconds, err := strconv.Atoi(strings.TrimSpace(resp.Header.Get("Retry-After"))); err == nil && e.RetryAfter == 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
